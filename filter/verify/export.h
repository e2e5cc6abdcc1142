/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use: a disk with its name.  Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_EXPORT_H
#define NBDKIT_BLKHASH_VERIFY_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

/* Protects the list, and the members that clients change.  The lock of a tally
 * is taken below it.
 */
extern pthread_mutex_t exports_lock;

struct export {
  struct export *next;
  const char *name;             /* in the result and the status */
  struct disk *disk;
  uint64_t zeros;               /* bytes that are zero by the manifest, so that
                                 * they are not read */
  char *line;                   /* the result if all is verified */
  bool connected;               /* a client has; the size is right */
  bool has_sum;                 /* in the result file; for result.c */
};

/* Open the manifest, and check its sum.  0, or -1 after nbdkit_error. */
int exports_open (void);
void exports_free (void);

/* The export for a client. */
struct export *exports_get (void);
void export_set_connected (struct export *export);

/* The first of the list. */
struct export *exports_first_locked (void);

#endif /* NBDKIT_BLKHASH_VERIFY_EXPORT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use: a disk with its name.  Thread-safe.
 *
 * There is one disk for all names, or with blkhash-verify-exports one for each
 * name, whose manifest is open while clients use it.
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
  char *name;                   /* in the result and the status */
  char *path;                   /* of the manifest */
  struct disk *disk;            /* not replaced while there are users */
  unsigned users;               /* connections */
  char *line;                   /* the result if all is verified */
  bool connected;               /* a client has; the size is right */
  bool has_sum;                 /* in the result file; for result.c */
};

/* Open the manifest, or the directory of manifests, before the server forks.
 * 0, or -1 after nbdkit_error.
 */
int exports_open (void);
void exports_free (void);

/* The export for a client that asks for NAME, until it is released.  NULL after
 * nbdkit_error.
 */
struct export *export_acquire (const char *name);
void export_release (struct export *export);

void export_set_connected (struct export *export);

/* The first of the list. */
struct export *exports_first_locked (void);

/* How often the list, or the disk of an export, changed. */
uint64_t exports_generation_locked (void);

#endif /* NBDKIT_BLKHASH_VERIFY_EXPORT_H */

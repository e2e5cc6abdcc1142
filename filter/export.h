/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, by name.
 *
 * Locks, in the order in which they are taken: exports_lock; that of a leaf
 * table, with those that the library takes below it; that of the report.  That
 * of the manifest is taken by no request, and with none of these.  Nobody waits
 * for a file, the log or the plugin with any of them.  The unit tests see every
 * lock and abort where this is not so: see test-locks.h.
 */

#ifndef NBDKIT_BLKHASH_EXPORT_H
#define NBDKIT_BLKHASH_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "report.h"

struct blkhash_leaves;

/* Clients choose names, and most plugins take any: they must not be able to
 * fill the memory with exports.
 */
#define EXPORTS_MAX 10000

extern pthread_mutex_t exports_lock;

struct export {
  struct export *next;          /* in the order in which they came */
  char *name;
  bool tls;                     /* that of clients with TLS; set once */
  struct report_line line;      /* of the report */

  /* All below is protected by exports_lock; the leaf table has its own lock,
   * but is only replaced when nobody uses it.
   */
  struct disk *disk;
  struct disk own_disk;         /* if exports are distinct disks */
  uint64_t log_seen;            /* of the disk's changes by other names */
  struct blkhash_leaves *leaves;
  uint64_t size;                /* bytes */
  const char *broken;           /* why there can be no sum, or NULL */
  bool silent;                  /* and nothing is said of it */
  unsigned conns;               /* connections that are open */
  uint64_t joins;               /* connections that ever counted */
  uint64_t newest;              /* the highest number of these */
  bool finishing;               /* a thread is in finish() */
  bool published;               /* the report has its sum; it is in ... */
  struct export *next_published, **link_published; /* ... disk->published */
  bool written;                 /* clients changed it since the last sum */
  size_t contradictions;        /* of the table, when we looked last */
  uint64_t bytes_read;          /* by clients, since the last sum */
};

/* What a client gets that asks for no name is the export NAME. */
void exports_set_default (const char *name, bool tls);

/* The export NAME, for clients with TLS or without.  find: NULL if nobody used it
 * yet.  get: NULL if it cannot be watched, with errno: ENOMEM, or ENOSPC when
 * there are EXPORTS_MAX with TLS, or without.
 */
struct export *export_find_locked (const char *name, bool tls);
struct export *export_get_locked (const char *name, bool tls);

/* The disk of the export NAME.  NULL: nothing is known of it. */
struct disk *exports_disk_locked (const char *name);

/* A connection comes that was told of SIZE; NEWER: after all that came before.
 * True if a sum was withdrawn.
 */
bool export_set_size_locked (struct export *export, uint64_t size, bool newer);

/* A client with TLS uses DISK: of what clients without TLS saw nothing is said any
 * more.  True if a sum was withdrawn.
 */
bool exports_set_tls_locked (struct disk *disk);

/* Does nobody use it?  What a client left that is gone must not push out what
 * another one needs.
 */
void export_set_idle_locked (struct export *export, bool idle);

/* How the export is called in the report. */
const char *export_shown_name_locked (const struct export *export);

/* Let the table forget what was changed by other names. */
void export_catch_up_locked (struct export *export);

/* There is a sum, MD of LEN bytes, and a manifest, as report_sum says. */
void export_publish_locked (struct export *export,
                            const unsigned char *md, size_t len,
                            bool has_manifest);

/* The reason why there is none, with how many bytes that is, a uint64_t. */
#define EXPORT_UNKNOWN_BYTES "the content of %" PRIu64 " bytes is not known"

/* Is there nothing to say of it: did clients neither read nor change it? */
bool export_is_unused_locked (const struct export *export);

/* Why there can be no sum, as far as is known without looking any further, or
 * NULL.
 */
const char *export_why_hopeless_locked (const struct export *export);

/* There is none, and WHY. */
void export_incomplete_locked (struct export *export, const char *why);

/* The report has no sum any more.  False if it had none: all is left as it is
 * then.
 */
bool export_withdraw_locked (struct export *export);

/* DISK is not what the sums say, as seen through BY: neither that nor any other
 * name has a sum; of the others it is said WHY.  True if there was one.  Takes as
 * long as there are names that had one, however many others there are.
 */
bool exports_withdraw_locked (struct disk *disk, struct export *by,
                              const char *why);

/* Call FN with each export, without the lock: there are no connections any
 * more.
 */
void exports_foreach (void (*fn) (struct export *export));
void exports_free (void);

#endif /* NBDKIT_BLKHASH_EXPORT_H */

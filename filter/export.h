/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, by name.
 *
 * Lock order: the lock of a pass that reads; exports_lock; the lock of a leaf
 * table, with those that the library takes below it; the lock of the report.
 * The lock of the manifest is taken by no request, and with none of these held.
 * No thread does file I/O, logs or calls the plugin with any of them held.  The
 * unit tests intercept every lock and abort if this is violated: see
 * test-locks.h.
 */

#ifndef NBDKIT_BLKHASH_EXPORT_H
#define NBDKIT_BLKHASH_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "report.h"

struct blkhash_leaves;

/* Clients choose names, and most plugins accept any name: a limit, so that
 * clients cannot fill the memory with exports.
 */
#define EXPORTS_MAX 10000

extern pthread_mutex_t exports_lock;

struct export {
  struct export *next;          /* in the order of creation */
  char *name;
  bool tls;                     /* of clients with TLS; set once */
  struct report_line line;      /* in the report */

  /* All below is protected by exports_lock.  The leaf table has its own lock,
   * and is replaced only while no connection uses it.
   */
  struct disk *disk;
  struct disk own_disk;         /* if exports are distinct disks */
  uint64_t log_seen;            /* position in the disk's log of changes */
  struct blkhash_leaves *leaves;
  uint64_t size;                /* bytes */
  const char *broken;           /* why there can be no sum, or NULL */
  bool silent;                  /* it is not reported */
  unsigned conns;               /* connections that are joined */
  uint64_t joins;               /* connections that ever joined */
  uint64_t newest;              /* the highest number of these */
  bool finishing;               /* a thread is in finish() */
  bool published;               /* the report has its sum; it is in ... */
  struct export *next_published, **link_published; /* ... disk->published */
  bool written;                 /* clients changed it since the last sum */
  size_t contradictions;        /* of the table, that were handled */
  uint64_t bytes_read;          /* by clients, since the last sum */
};

/* The plugin's name for the default export is NAME. */
void exports_set_default (const char *name, bool tls);

/* The export NAME, of clients with TLS or without.  find: NULL if no client has
 * used it yet.  get creates it then; NULL with errno if it cannot be watched:
 * ENOMEM, or ENOSPC if there are EXPORTS_MAX with TLS, or without.
 */
struct export *export_find_locked (const char *name, bool tls);
struct export *export_get_locked (const char *name, bool tls);

/* The disk of the export NAME.  NULL: no client has used it yet. */
struct disk *exports_disk_locked (const char *name);

/* A connection joins for which the plugin reported SIZE.  NEWER: it was opened
 * after all that have joined.  Another size resets the table if it is NEWER and
 * the export is not in use; otherwise it makes the export broken.  True if a
 * sum was withdrawn.
 */
bool export_set_size_locked (struct export *export, uint64_t size, bool newer);

/* A client with TLS uses DISK: its exports of clients without TLS are not
 * reported any more.  True if a sum was withdrawn.
 */
bool exports_set_tls_locked (struct disk *disk);

/* IDLE: no connection uses the export.  Its pieces of blocks are evicted before
 * those of exports in use, see leaves.h.
 */
void export_set_idle_locked (struct export *export, bool idle);

/* The name of the export in the report. */
const char *export_shown_name_locked (const struct export *export);

/* Invalidate in the table what was changed by other names. */
void export_catch_up_locked (struct export *export);

/* Publish the sum MD of LEN bytes; see report_sum.  If there is no memory for
 * it that is reported; the next client, or the end of the server, tries again.
 */
void export_publish_locked (struct export *export,
                            const unsigned char *md, size_t len,
                            bool has_manifest);

/* A reason for export_incomplete_locked; the argument is a uint64_t. */
#define EXPORT_UNKNOWN_BYTES "the content of %" PRIu64 " bytes is not known"

/* Did clients neither read nor change it, and has it no line in the report? */
bool export_is_unused_locked (const struct export *export);

/* Why there can be no sum, whatever is read, or NULL. */
const char *export_why_hopeless_locked (const struct export *export);

/* Report WHY there is no sum. */
void export_incomplete_locked (struct export *export, const char *why);

/* Remove the sum from the report.  False, without a change, if it has none. */
bool export_withdraw_locked (struct export *export);

/* Withdraw all sums of DISK; for exports other than BY report WHY.  True if
 * there was a sum.  The time depends on the number of exports with a sum, not
 * on that of all exports.
 */
bool exports_withdraw_locked (struct disk *disk, struct export *by,
                              const char *why);

/* Call FN with each export, without the lock.  Only after the last connection
 * has ended.
 */
void exports_foreach (void (*fn) (struct export *export));
void exports_free (void);

#endif /* NBDKIT_BLKHASH_EXPORT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk: the state that all its export names share.  All names are one disk,
 * unless the user configured distinct exports.
 *
 * Not thread-safe: the caller holds exports_lock.  Nothing here hashes, or
 * calls the plugin.
 */

#ifndef NBDKIT_BLKHASH_DISK_H
#define NBDKIT_BLKHASH_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "block-set.h"
#include "inflight.h"
#include "visibility.h"

struct disk_change;
struct export;

/* Zero-initialised it is a disk without exports. */
struct disk {
  unsigned exports;             /* names that clients have used */
  struct export *published;     /* list of those that have a sum */
  bool tls;                     /* it has, or had, a client with TLS */
  uint64_t changes;             /* begun and ended, counted both times */
  unsigned changing;            /* changes that are in flight */
  struct inflight inflight;
  struct visibility visibility;
  struct block_set written;     /* by clients, since the server started */

  /* A ring buffer of the last changes, for exports that did not make them. */
  struct disk_change *log;      /* NULL before the first */
  uint64_t logged;              /* changes ever appended */
  bool may_extend;              /* no export has read the last one yet */
};

/* REQUEST modifies the disk.  BY is its export, or NULL if that is not watched.
 */
void disk_change_begin (struct disk *disk, struct request *request,
                        uint64_t offset, uint64_t len);
void disk_change_end (struct disk *disk, struct request *request,
                      const void *by);

/* Invalidate the range from OFFSET to END for all exports but BY; for all if
 * that is NULL.
 */
void disk_change (struct disk *disk, const void *by,
                  uint64_t offset, uint64_t end);

/* A flush of connection BY has ended.  A change of another connection in flight
 * over a flushed block may be on the disk, or overwritten by the flush.  If the
 * flush failed, changes of BY in flight may be lost, and its reads in flight
 * may not return what is on the disk.
 */
void disk_flush_ended (struct disk *disk, struct unflushed *by, bool ok);

/* Set *SEEN to the end of the log, for disk_catch_up. */
void disk_log_position (struct disk *disk, uint64_t *seen);

/* Call FN with each range that others than BY changed since *SEEN, and set
 * *SEEN to the end of the log.  If the log has lost changes since *SEEN, FN
 * gets the whole disk.
 */
void disk_catch_up (struct disk *disk, const void *by, uint64_t *seen,
                    void (*fn) (void *opaque, uint64_t offset, uint64_t end),
                    void *opaque);

void disk_destroy (struct disk *disk);

#endif /* NBDKIT_BLKHASH_DISK_H */

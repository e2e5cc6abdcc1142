/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk: what those export names share that are the same disk, which is all
 * of them, unless the user said that exports are distinct.
 *
 * It knows nothing of hashing and of the plugin.  Its user holds a lock.
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

/* Zero-initialised it is a disk that nobody has seen. */
struct disk {
  unsigned exports;             /* names by which it is known */
  struct export *published;     /* of these, those that have a sum */
  bool tls;                     /* it has, or had, a client with TLS */
  uint64_t changes;             /* begun and ended, counted both times */
  unsigned changing;            /* changes that are in flight */
  struct inflight inflight;
  struct visibility visibility;
  struct block_set written;     /* by clients, since the server started */

  /* The last changes, for those exports that did not see them. */
  struct disk_change *log;      /* NULL before the first */
  uint64_t logged;              /* changes ever put there */
  bool may_extend;              /* nobody has seen the last one yet */
};

/* REQUEST was given by export BY.  NULL: by one that is not watched. */
void disk_change_begin (struct disk *disk, struct request *request,
                        uint64_t offset, uint64_t len);
void disk_change_end (struct disk *disk, struct request *request,
                      const void *by);

/* What is from OFFSET to END is not known any more by other names than BY; by
 * none if that is NULL.
 */
void disk_change (struct disk *disk, const void *by,
                  uint64_t offset, uint64_t end);

/* The flush of a connection that is in flight has ended.  A change of another
 * one that is in flight in the same place may be on the disk, or replaced by
 * what was flushed.  If the flush failed, changes of this connection that are
 * in flight may be lost, and what it reads at the same time is not what is on
 * the disk.
 */
void disk_flush_ended (struct disk *disk, struct unflushed *by, bool ok);

/* From now on changes are missed: set *SEEN, for disk_catch_up. */
void disk_log_position (struct disk *disk, uint64_t *seen);

/* Tell FN of the ranges that were changed since *SEEN was set, by others than
 * BY, and set *SEEN.  When there were too many it is
 * called with all of the disk.
 */
void disk_catch_up (struct disk *disk, const void *by, uint64_t *seen,
                    void (*fn) (void *opaque, uint64_t offset, uint64_t end),
                    void *opaque);

void disk_destroy (struct disk *disk);

#endif /* NBDKIT_BLKHASH_DISK_H */

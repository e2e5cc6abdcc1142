/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observe a request that modifies the disk (pwrite, zero or trim), or the
 * content of a cache below the filter (a prefetch, NBD_CMD_CACHE).
 *
 * After the plugin has performed the request, modify_end hashes the new content
 * without the lock.  Until then the request is in flight.  If another request
 * that is in flight at the same time accesses the same bytes, these bytes are
 * tainted: the order of the two requests is unknown, and so is the content.
 * modify_end invalidates the tainted part (see struct request).
 *
 * The new content is also unknown if the connection is stale: another
 * connection changed the disk, and the plugin does not advertise multi-conn.
 * Without multi-conn, NBD does not guarantee the order in which changes by
 * different connections reach the disk, so the older change may still overwrite
 * this one.  If the connection is not stale, but two connections changed a
 * block, visibility.c determines whether the order of their changes is known.
 *
 * A fast zero that was refused may have changed its range.  For example, a
 * first attempt may have zeroed half of the range before it failed, and when
 * nbdkit's retry filter tried again, that attempt was refused.  Or all of the
 * range was zeroed, and only the flush that emulates FUA failed, with the error
 * of a refusal.  So the content of the range is unknown.  But a refused fast
 * zero does not mark the export as modified, so it does not cause finish.c to
 * read the missing ranges, unless it withdrew the sum of the export.
 *
 * These functions do not call the plugin, and never fail the request: if
 * hashing fails, there is no sum.
 */

#ifndef NBDKIT_BLKHASH_MODIFY_H
#define NBDKIT_BLKHASH_MODIFY_H

#include <stdint.h>

#include "blkhash/disk.h"

struct conn;

/* The content of the range after the request. */
enum modify_result {
  MODIFY_REFUSED,               /* unknown: a fast zero was refused, see
                                 * above */
  MODIFY_UNKNOWN,               /* unknown: a write or zero failed */
  MODIFY_TRIM,                  /* unknown: a trim, which may have failed */
  MODIFY_DATA,                  /* the data in BUF */
  MODIFY_ZERO,                  /* zeros */
};

/* Called before and after the call of the plugin.  When modify_begin returns,
 * the result file has no sum of the old content, and such a sum cannot come
 * back after a crash.  BUF is the data of the write; it is used only with
 * MODIFY_DATA.
 */
void modify_begin (struct conn *conn, struct request *request,
                   uint64_t offset, uint64_t len);
void modify_end (struct conn *conn, struct request *request,
                 enum modify_result result, const void *buf);

/* Called after a prefetch of LEN bytes, which may have failed.  A cache below
 * the filter may now have old content, if another connection trimmed the range
 * and this one might not see the trim.  Then the range becomes missing, and all
 * sums of the disk are withdrawn.
 */
void modify_prefetched (struct conn *conn, uint64_t offset, uint64_t len);

#endif /* NBDKIT_BLKHASH_MODIFY_H */

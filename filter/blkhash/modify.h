/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observe a request that modifies the disk (pwrite, zero or trim), or the
 * content of a cache below the filter (a prefetch, NBD_CMD_CACHE).
 *
 * These functions do not call the plugin, and never fail the request: if
 * hashing fails, there is no sum.
 */

#ifndef NBDKIT_BLKHASH_MODIFY_H
#define NBDKIT_BLKHASH_MODIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash/block-set.h"

struct conn;

/* The content of the range after the request. */
enum modify_result {
  MODIFY_REFUSED,               /* unknown: a fast zero was refused, see
                                 * modify.c */
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

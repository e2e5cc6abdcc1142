/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Observing a request that modifies the disk: pwrite, zero or trim; or what a
 * cache below has of it: a prefetch.
 *
 * Nothing here calls the plugin, or fails the request: if hashing fails, there
 * is no sum.
 */

#ifndef NBDKIT_BLKHASH_MODIFY_H
#define NBDKIT_BLKHASH_MODIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "inflight.h"

struct conn;

/* The content of the range after the request. */
enum modify_result {
  MODIFY_REFUSED,               /* unknown: a fast zero, see modify.c */
  MODIFY_UNKNOWN,               /* unknown: it failed */
  MODIFY_TRIM,                  /* unknown: it was trimmed */
  MODIFY_DATA,                  /* BUF */
  MODIFY_ZERO,                  /* zeros */
};

/* Begin before the plugin is called, and end after it.  When begin returns, no
 * sum of the old content is in the result file, nor can come back after a
 * crash.
 */
void modify_begin (struct conn *conn, struct request *request,
                   uint64_t offset, uint64_t len);
void modify_end (struct conn *conn, struct request *request,
                 enum modify_result result, const void *buf);

/* A prefetch of LEN bytes: call it when the plugin has done it.  Then no sum is
 * published that old content in a cache below makes wrong.
 */
void modify_prefetched (struct conn *conn, uint64_t offset, uint64_t len);

#endif /* NBDKIT_BLKHASH_MODIFY_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a request that changes the disk leaves behind.
 *
 * Nothing here calls the plugin, and nothing here can fail a request: what
 * goes wrong with hashing only means that there is no sum.
 */

#ifndef NBDKIT_BLKHASH_MODIFY_H
#define NBDKIT_BLKHASH_MODIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "inflight.h"

struct conn;

/* What a change leaves behind. */
enum modify_result {
  MODIFY_REFUSED,               /* a fast zero; unknown, too, see modify.c */
  MODIFY_UNKNOWN,               /* an error */
  MODIFY_TRIM,
  MODIFY_DATA,                  /* what is in BUF */
  MODIFY_ZERO,
};

/* A change: begin before the plugin is asked, and end when it is done.  When
 * begin returns no sum of the old content is in the result file, nor can come
 * back there by a crash.
 */
void modify_begin (struct conn *conn, struct request *request,
                   uint64_t offset, uint64_t len);
void modify_end (struct conn *conn, struct request *request,
                 enum modify_result result, const void *buf);

#endif /* NBDKIT_BLKHASH_MODIFY_H */

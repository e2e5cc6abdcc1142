/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a request that changes the disk leaves behind.
 *
 * Nothing here calls the plugin, and nothing here can fail a request: what
 * goes wrong with hashing only means that there is no sum.
 */

#ifndef NBDKIT_BLKHASH_CHANGE_H
#define NBDKIT_BLKHASH_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "inflight.h"

struct conn;

/* What a change leaves behind. */
enum change {
  CHANGE_REFUSED,               /* a fast zero; unknown, too, see change.c */
  CHANGE_UNKNOWN,               /* an error */
  CHANGE_TRIM,
  CHANGE_DATA,                  /* what is in BUF */
  CHANGE_ZERO,
};

/* A change: begin before the plugin is asked, and end when it is done.  When
 * begin returns no sum of the old content is in the result file, nor can come
 * back there by a crash.
 */
void change_begin (struct conn *conn, struct request *request,
                   uint64_t offset, uint64_t len);
void change_end (struct conn *conn, struct request *request,
                 enum change change, const void *buf);

#endif /* NBDKIT_BLKHASH_CHANGE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of a hash.  Their defaults and limits are in opts.c.
 */

#ifndef BLKHASH_OPTS_H
#define BLKHASH_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The construction of the outer hash: flat, linear or streams.  The outer hash
 * computes the digest of the image from its leaves.
 */
struct construction {
  unsigned streams;             /* 0 if flat or linear */
  bool linear;                  /* only if STREAMS is 0 */
};

struct blkhash_opts {
  const char *digest_name;      /* canonical name, in static storage */
  size_t digest_size;           /* bytes */
  uint32_t block_size;
  unsigned queue_depth;
  struct construction construction;
  uint8_t threads;
};

/* Set all options to their defaults. */
void opts_init (struct blkhash_opts *opts);

#endif /* BLKHASH_OPTS_H */

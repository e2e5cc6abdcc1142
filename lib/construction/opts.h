/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of a hash.  Their defaults and limits are in opts.c.
 */

#ifndef BLKHASH_OPTS_H
#define BLKHASH_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include "construction/construction.h"

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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source of good blocks.  It is not trusted.
 */

#ifndef BLKSUM_REPAIR_SOURCE_H
#define BLKSUM_REPAIR_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/source-options.h"

struct error;
struct hash_request;
struct repair_batch;
struct source;
struct target;

struct repair_source {
  const char *operand;
  struct source_options options;
  const struct hash_request *request;
  const struct target *target;
  uint64_t size;                /* of the image, bytes; more is not read */
  uint32_t block_size;          /* bytes */
  struct source *source;        /* NULL: it is not open */
  bool unusable;                /* it could not be opened again, or was given up */
  unsigned failures;            /* blocks in a row that could not be read */
  bool warned;
};

/* Set SOURCE to OPERAND, of blocks of BLOCK_SIZE bytes for TARGET, and check that
 * it can be opened, and that it is not TARGET.  0, or -1 with the reason.
 */
int repair_source_init (struct repair_source *source, const char *operand,
                        const struct hash_request *request,
                        const struct target *target, uint32_t block_size,
                        struct error *error);
void repair_source_close (struct repair_source *source);

/* Read the blocks of BATCH that are not good, and check which of them are good
 * then.  An error of the source is no failure: it has less to offer.  0, or -1
 * with the reason.
 */
int repair_source_read (struct repair_source *source,
                        struct repair_batch *batch, struct error *error);

#endif /* BLKSUM_REPAIR_SOURCE_H */

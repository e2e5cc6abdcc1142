/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source of good blocks.  Its content is not trusted.
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
  const struct target *target;
  uint32_t block_size;          /* bytes */
  struct source *source;        /* NULL if it is not open */
  bool unusable;                /* it could not be opened again, or FAILURES is
                                 * too large */
  unsigned failures;            /* consecutive blocks that could not be read */
  bool warned;                  /* a read error was reported */
};

/* Initialize SOURCE to read blocks of BLOCK_SIZE bytes from OPERAND, to repair
 * TARGET.  Check that OPERAND can be opened and is not TARGET, and close it
 * again.  Returns 0, or -1 with the reason in ERROR.
 */
int repair_source_init (struct repair_source *source, const char *operand,
                        const struct hash_request *request,
                        const struct target *target, uint32_t block_size,
                        struct error *error);
void repair_source_close (struct repair_source *source);

/* Read the blocks that BATCH needs, and check which of them are good.  An
 * error of the source only causes a warning, and BATCH still needs the blocks
 * that could not be read.  Returns 0, or -1 with the reason in ERROR.
 */
int repair_source_read (struct repair_source *source,
                        struct repair_batch *batch, struct error *error);

#endif /* BLKSUM_REPAIR_SOURCE_H */

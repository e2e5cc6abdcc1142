/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source of good blocks.  Its content is not trusted.
 *
 * Extents are not queried, because only few blocks are read, and nothing that
 * the source reports is trusted.  After an error the source is closed, and
 * opened again for the next block.
 *
 * A block that cannot be read can take seconds, if a disk retries the read, or
 * a server does not reply.  Therefore a source that fails for many consecutive
 * blocks is not used any more, even if it could provide other blocks.
 */

#ifndef BLKSUM_REPAIR_SOURCE_H
#define BLKSUM_REPAIR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/source-options.h"

struct error;
struct hash_request;
struct source;
struct target;

struct repair_source {
  const char *operand;
  struct source_options options;
  const struct target *target;
  struct source *source;        /* NULL if it is not open */
  bool unusable;                /* it could not be opened again, or FAILURES is
                                 * too large */
  unsigned failures;            /* consecutive blocks that could not be read */
  bool warned;                  /* a read error was reported */
};

/* Initialize SOURCE to read blocks from OPERAND, to repair TARGET.  Check that
 * OPERAND can be opened and is not TARGET, and close it again.  Returns 0, or
 * -1 with the reason in ERROR.
 */
int repair_source_init (struct repair_source *source, const char *operand,
                        const struct hash_request *request,
                        const struct target *target, struct error *error);
void repair_source_close (struct repair_source *source);

/* Read the LEN bytes at OFFSET, a block, into BUF.  Returns false if SOURCE
 * does not have them, or cannot be read, which only causes a warning.
 */
bool repair_source_read (struct repair_source *source, size_t block_size,
                         void *buf, size_t len, uint64_t offset);

#endif /* BLKSUM_REPAIR_SOURCE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of one source.
 */

#ifndef BLKSUM_JOB_HASH_H
#define BLKSUM_JOB_HASH_H

#include <stdbool.h>
#include <stdint.h>

struct blkhash_leaves;
struct error;
struct options;
struct progress;
struct source;
struct sum;

/* Hash what OPERAND names.  0, or -1 with the reason; nothing is printed. */
int job_hash (const struct options *options, const char *operand,
              struct sum *sum, struct error *error);

/* The same for SOURCE, which is open, and stays open; but SUM does not say how
 * long it took.  After an error SOURCE can only be closed.
 */
int job_hash_source (const struct options *options, struct source *source,
                     struct sum *sum, struct error *error);

/* What is to be read of an image. */
struct hash_part {
  struct progress *progress;    /* is told of each byte */
  bool (*wanted) (void *opaque, uint64_t offset, uint64_t *len); /* or NULL: all
                                 * that the table misses; see read/fill.h */
  void *opaque;
};

/* Fill LEAVES, a table of SOURCE of which PART is missing, and fold it.  SUM as
 * by job_hash_source, but it does not say how it is made; it is empty if the
 * table computes none.
 */
int job_hash_table (const struct options *options, struct source *source,
                    struct blkhash_leaves *leaves,
                    const struct hash_part *part, struct sum *sum,
                    struct error *error);

#endif /* BLKSUM_JOB_HASH_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of one source.
 */

#ifndef BLKSUM_JOB_HASH_H
#define BLKSUM_JOB_HASH_H

#include <stdint.h>

struct blkhash_leaves;
struct error;
struct options;
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

/* Fill LEAVES, a table of SOURCE of which LEN bytes are missing, and fold it.
 * SUM as by job_hash_source, but it does not say how it is made; it is empty if
 * the table computes none.
 */
int job_hash_table (const struct options *options, struct source *source,
                    struct blkhash_leaves *leaves, uint64_t len,
                    struct sum *sum, struct error *error);

#endif /* BLKSUM_JOB_HASH_H */

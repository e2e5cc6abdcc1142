/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An expected sum, which a user or a list gives.
 */

#ifndef BLKHASH_EXPECTED_SUM_H
#define BLKHASH_EXPECTED_SUM_H

#include <stdbool.h>

#include "blkhash-manifest.h"

struct sums_line;

struct expected_sum {
  struct blkhash_opts *opts;    /* hash parameters */
  bool tagged;                  /* the sum has a tag */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* the bytes of the digest of OPTS */
};

/* Set SUM to that of LINE, which is of type SUMS_SUM.  Hash parameters that its
 * tag does not contain, or all if it has none, are those of DEFAULTS, or those
 * of blksum if DEFAULTS is NULL.  Returns 0; or EINVAL or ENOMEM with the
 * reason in REASON, which has BLKHASH_MAX_REASON_SIZE bytes, and SUM needs not
 * be destroyed.
 */
int expected_sum_init (struct expected_sum *sum, const struct sums_line *line,
                       const struct blkhash_opts *defaults, char *reason);

/* The same for TEXT, the argument of an option: see sums_line_parse_text. */
int expected_sum_parse (struct expected_sum *sum, const char *text,
                        const struct blkhash_opts *defaults, char *reason);

void expected_sum_destroy (struct expected_sum *sum);

#endif /* BLKHASH_EXPECTED_SUM_H */

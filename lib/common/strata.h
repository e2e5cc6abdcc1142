/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A stratified random sample, for audits: blkhash update, and the filter with
 * blkhash-update, take leaves from a manifest, and read a sample of the blocks
 * of these leaves.
 *
 * The units of the sample are ranges of the image (see STRATA_READ_UNIT).  They
 * are divided into strata of the same number of units; only the last stratum
 * can have fewer.  One unit of each stratum is chosen, so all units are chosen
 * with the same probability, or with a greater one in a shorter last stratum.
 * The sample is computed from a seed, so any thread can query it, in any order.
 */

#ifndef BLKHASH_STRATA_H
#define BLKHASH_STRATA_H

#include <stdbool.h>
#include <stdint.h>

#define STRATA_MIN_UNITS 64     /* minimum number of units to choose; if there
                                 * are fewer, all are chosen */
#define STRATA_ALL 100000000    /* 100 % in millionths of a percent */
#define STRATA_DEFAULT (STRATA_ALL / 1000) /* 0.1 % */

/* The size of a unit in bytes, unless the block size of the hash is larger.
 * Reads of units are aligned to this size; neither NBD servers nor direct I/O
 * require a larger alignment.
 */
#define STRATA_READ_UNIT (64 * 1024)

struct strata {
  uint64_t units;               /* number of units */
  uint64_t chosen;              /* number of chosen units */
  uint64_t length;              /* of a stratum, in units; 0: empty sample */
  uint64_t seed;
};

/* Parse "N%", with up to six decimals, to millionths of a percent.  Returns
 * false if TEXT has another form, or N is more than 100.
 */
bool strata_parse_share (const char *text, uint32_t *share);

/* Choose a sample of UNITS units.  If SHARE, in millionths of a percent, is 0,
 * no unit is chosen; otherwise at least that share of the units, and at least
 * STRATA_MIN_UNITS of them.  The sample cannot be predicted without SEED.
 */
void strata_init (struct strata *strata, uint64_t units, uint32_t share,
                  uint64_t seed);

/* Returns true if unit N, which is less than strata->units, is chosen.  Stores
 * in *COUNT the number of units from N on to which the answer applies.  If the
 * sample is empty, these are all units from N on.
 */
bool strata_at (const struct strata *strata, uint64_t n, uint64_t *count);

#endif /* BLKHASH_STRATA_H */

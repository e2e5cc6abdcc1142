/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The audit sample of --update and --resume: which parts of an image are read
 * if a manifest has the leaves of most of it.
 *
 * Unknown ranges are read.  The rest is trusted: its leaves are taken from the
 * manifest.  A random sample of the rest is audited, that is, read and compared
 * with the manifest.
 *
 * The image is divided into units: blocks, or groups of small blocks, which are
 * read together.  The trusted units are divided into strata of the same length;
 * the last one can be shorter.  One unit of each stratum is audited.  So each
 * unit is audited with the same probability, or a greater one in the last
 * stratum.  The sample is computed from a seed, so any thread can query it, in
 * any order.
 */

#ifndef BLKSUM_AUDIT_SAMPLE_H
#define BLKSUM_AUDIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct ranges;

#define SAMPLE_MIN_UNITS 64     /* units to audit, if there are as many */
#define SAMPLE_ALL 100000000    /* millionths of a percent: 100 % */

struct audit_sample {
  uint64_t size;                /* of the image, bytes */
  uint64_t unit;                /* bytes */
  const struct ranges *unknown; /* in whole units */
  uint64_t *before;             /* unknown units before each range of UNKNOWN,
                                 * and their total */
  uint64_t trusted, audited;    /* units */
  uint64_t stratum;             /* length in units, if any are audited */
  uint64_t seed;
};

enum sample_class { SAMPLE_UNKNOWN, SAMPLE_TRUSTED, SAMPLE_AUDITED };

/* Select the sample for an image of SIZE bytes with blocks of BLOCK_SIZE.
 * UNKNOWN is sorted and must stay valid; it is extended to whole units.  AUDIT
 * is the share of the rest to audit, in millionths of a percent.  The sample
 * cannot be predicted without SEED.  0 or ENOMEM.
 */
int audit_sample_init (struct audit_sample *sample, uint64_t size,
                       uint32_t block_size, struct ranges *unknown,
                       uint32_t audit, uint64_t seed);
void audit_sample_destroy (struct audit_sample *sample);

/* Returns the class of the byte at OFFSET.  At least the next *LEN bytes have
 * the same class.  They end where a unit or the image ends, or beyond the
 * image.
 */
enum sample_class audit_sample_at (const struct audit_sample *sample,
                                   uint64_t offset, uint64_t *len);

/* The number of bytes to read, at most: the last unit can be short. */
uint64_t audit_sample_bytes (const struct audit_sample *sample);

#endif /* BLKSUM_AUDIT_SAMPLE_H */

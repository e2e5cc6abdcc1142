/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The audit sample of --update and --resume.
 *
 * Unknown ranges are read.  All other ranges are trusted: their leaves are
 * taken from the manifest.  A random sample of these is audited, that is, read
 * and compared with the manifest.
 *
 * The image is divided into units: blocks, or groups of small blocks, which are
 * read together.  The audited ones are a stratified sample of the trusted ones.
 * Any thread can query it, in any order.
 */

#ifndef BLKSUM_AUDIT_SAMPLE_H
#define BLKSUM_AUDIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/common/strata.h"

struct ranges;

struct audit_sample {
  uint64_t size;                /* size of the image, bytes */
  uint64_t unit;                /* size of a unit, bytes */
  const struct ranges *unknown; /* unknown ranges, in whole units */
  uint64_t *before;             /* for each range of UNKNOWN, the number of
                                 * unknown units before it; then their total */
  struct strata trusted;        /* sample of the trusted units, which are
                                 * numbered without the unknown ones */
};

enum sample_class { SAMPLE_UNKNOWN, SAMPLE_TRUSTED, SAMPLE_AUDITED };

/* Select the sample for an image of SIZE bytes with blocks of BLOCK_SIZE.
 * UNKNOWN must be sorted and must remain valid; it is extended to whole units.
 * AUDIT is the share of the other units to audit, in millionths of a percent.
 * The sample cannot be predicted without SEED.  Returns 0 or ENOMEM.
 */
int audit_sample_init (struct audit_sample *sample, uint64_t size,
                       uint32_t block_size, struct ranges *unknown,
                       uint32_t audit, uint64_t seed);
void audit_sample_destroy (struct audit_sample *sample);

/* Returns the class of the byte at OFFSET.  At least the next *LEN bytes have
 * the same class.  They end at the end of a unit or of the image, or beyond the
 * image.
 */
enum sample_class audit_sample_at (const struct audit_sample *sample,
                                   uint64_t offset, uint64_t *len);

/* Returns an upper bound of the number of bytes to read.  Fewer are read if the
 * last unit is short.
 */
uint64_t audit_sample_bytes (const struct audit_sample *sample);

#endif /* BLKSUM_AUDIT_SAMPLE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The audit sample of blkhash update.
 *
 * Unknown ranges, such as those that changed, are read.  All other ranges are
 * trusted: their leaves are taken from the manifest.  A random sample of the
 * trusted ranges is audited, that is, read and compared with the manifest.
 *
 * The image is divided into units: blocks, or groups of small blocks, which are
 * read together.  The audited units are a stratified sample of the trusted
 * units.  Any thread can query the sample, in any order.
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
                                 * unknown units before it; at the end, the
                                 * number of all unknown units */
  struct strata trusted;        /* sample of the trusted units; their numbers
                                 * do not count the unknown units */
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

/* Returns the class of the byte at OFFSET.  The *LEN bytes from OFFSET on have
 * the same class; bytes after them can have it too.  OFFSET + *LEN is the end
 * of a unit, or an offset at or after the end of the image.
 */
enum sample_class audit_sample_at (const struct audit_sample *sample,
                                   uint64_t offset, uint64_t *len);

/* Returns an upper bound of the number of bytes to read.  Fewer are read if the
 * last unit is short.
 */
uint64_t audit_sample_bytes (const struct audit_sample *sample);

#endif /* BLKSUM_AUDIT_SAMPLE_H */

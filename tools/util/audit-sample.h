/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which parts of a disk are read, when a manifest says most of it: those that
 * are unknown, and of those that are trusted some at random, to see whether
 * they are what they are trusted to be.
 *
 * The disk is cut into units: blocks, or as many of them as are read at once.
 * The units that are trusted are divided into strata, of the same length but
 * for the last one, which can be shorter, and one unit of each is audited: each
 * with the same probability, or a greater one.  Nothing but a seed is kept of
 * that, so any thread can ask, in any order.
 */

#ifndef BLKSUM_AUDIT_SAMPLE_H
#define BLKSUM_AUDIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct ranges;

#define SAMPLE_MIN_UNITS 64     /* units to be audited, if there are as many */
#define SAMPLE_ALL 100000000    /* millionths of a percent: 100 % */

struct audit_sample {
  uint64_t size;                /* of the disk, bytes */
  uint64_t unit;                /* bytes */
  const struct ranges *unknown; /* in whole units */
  uint64_t *before;             /* units of UNKNOWN before each of them, and the
                                 * sum of all */
  uint64_t trusted, audited;    /* units */
  uint64_t stratum;             /* units, if any are audited */
  uint64_t seed;
};

enum sample_class { SAMPLE_UNKNOWN, SAMPLE_TRUSTED, SAMPLE_AUDITED };

/* Choose for a disk of SIZE bytes with blocks of BLOCK_SIZE, of which UNKNOWN,
 * which are sorted and stay, are not trusted: they become whole units.  AUDIT
 * is how much of the rest is to be audited, in millionths of a percent.  Nobody
 * can know what is chosen by SEED if he does not know SEED.  0 or ENOMEM.
 */
int audit_sample_init (struct audit_sample *sample, uint64_t size,
                       uint32_t block_size, struct ranges *unknown,
                       uint32_t audit, uint64_t seed);
void audit_sample_destroy (struct audit_sample *sample);

/* What is the byte at OFFSET?  Stores in *LEN how far this is the same for all
 * that follow, at least: bytes, in whole units, also behind the disk's end.
 */
enum sample_class audit_sample_at (const struct audit_sample *sample,
                                   uint64_t offset, uint64_t *len);

/* How many bytes are read. */
uint64_t audit_sample_bytes (const struct audit_sample *sample);

#endif /* BLKSUM_AUDIT_SAMPLE_H */

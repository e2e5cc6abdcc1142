/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which bytes of an image: sets of ranges, such as those that changed; a part;
 * the audit sample of the bytes whose leaves are trusted; and the selection of
 * what a job reads, by a part or a sample.
 */

#ifndef BLKSUM_RANGES_H
#define BLKSUM_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/common/strata.h"

/* ---- Sets of ranges ---- */

/* Memory is bounded: if there are more than RANGES_MAX ranges, neighbors with
 * small gaps between them are joined, and the gaps added.  So a set can contain
 * more bytes than were added, but never fewer.
 */
#define RANGES_MAX ((size_t) 1 << 21) /* maximum number of ranges; each takes
                                       * 16 bytes, and the same again while
                                       * they are sorted */

struct ranges_item {
  uint64_t start, len;          /* bytes; LEN is not 0 */
};

/* A set of ranges.  The empty set is all zero. */
struct ranges {
  struct ranges_item *items;    /* sorted and not adjacent, after ranges_sort */
  size_t count, room;
};

/* Add LEN bytes at START.  Ranges can be added in any order.  Returns 0,
 * EOVERFLOW if the range ends beyond 2^64 - 1, or ENOMEM.
 */
int ranges_add (struct ranges *ranges, uint64_t start, uint64_t len);

/* Sort the ranges, and join those that are adjacent or overlap.  The functions
 * below require sorted ranges.
 */
void ranges_sort (struct ranges *ranges);

/* Extend the ranges to whole blocks, and cut them at SIZE, the end of the
 * image.
 */
void ranges_align (struct ranges *ranges, uint32_t block_size, uint64_t size);

/* Returns the index of the first range that ends after OFFSET, or the number of
 * ranges if there is none.
 */
size_t ranges_find (const struct ranges *ranges, uint64_t offset);

/* Returns the number of bytes in the ranges. */
uint64_t ranges_bytes (const struct ranges *ranges);

/* Free the memory, and make the set empty. */
void ranges_free (struct ranges *ranges);

/* ---- Parts ---- */

#define PART_UNIT ((uint64_t) 1 << 30) /* bytes; no block crosses a multiple
                                        * of it */
#define PART_MAX 999999         /* maximum number of parts: six digits in a
                                 * file name */

/* Part I of N of an image, counted from 0: --part.  A part is a range of
 * consecutive blocks.
 */
struct part {
  uint32_t i, n;                /* I < N; if N is 0, there is no part */
};

/* Parse "I/N".  Returns 0, or -1 if TEXT is anything else, I >= N, or N is more
 * than PART_MAX.
 */
int part_parse (struct part *part, const char *text);

/* Set *FIRST to the first block of the part in an image of SIZE bytes, and
 * *COUNT to the number of its blocks, which can be 0.  The image is divided at
 * multiples of PART_UNIT or, if it is smaller than N * PART_UNIT, of the block
 * size.  The lengths of the parts differ by at most one such unit.
 */
void part_blocks (const struct part *part, uint64_t size, uint32_t block_size,
                  uint64_t *first, uint64_t *count);

/* Returns the offset of BLOCK in bytes, but at most the SIZE of the image: its
 * last block can be short.
 */
uint64_t part_offset (uint64_t block, uint64_t size, uint32_t block_size);

#define PART_TEXT_SIZE 80       /* "part 7/30: 34 of 1024 GiB" */

/* Describe a part of BYTES of an image of SIZE bytes, in the largest unit up to
 * GiB in which both are integers.
 */
void part_describe (const struct part *part, uint64_t bytes, uint64_t size,
                    char text[PART_TEXT_SIZE]);

/* Returns the path of the manifest of the part in DIR.  The caller frees it.
 * Returns NULL if there is no memory.
 */
char *part_path (const struct part *part, const char *dir);

/* ---- The audit sample ---- */

/* Unknown ranges, such as those that changed, are read.  All other ranges are
 * trusted: their leaves are taken from the manifest.  A random sample of the
 * trusted ranges is audited, that is, read and compared with the manifest.
 *
 * The image is divided into units: blocks, or groups of small blocks, which are
 * read together.  The audited units are a stratified sample of the trusted
 * units.  Any thread can query the sample, in any order.
 */

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

/* ---- Selections ---- */

/* The bytes of an image that a job reads: those from START to END; if there is
 * a SAMPLE, only those that it does not trust.  Any thread can query it.
 */
struct selection {
  uint64_t start, end;
  const struct audit_sample *sample; /* or NULL */
};

/* Returns the selection of COUNT blocks from FIRST on, extended to multiples of
 * 64 KiB, because an NBD server or direct I/O may require that alignment.
 */
struct selection selection_of_blocks (uint64_t first, uint64_t count,
                                      uint64_t size, uint32_t block_size);

/* Returns true if the byte at OFFSET is selected.  Stores in *LEN the number of
 * bytes from OFFSET on for which the result is the same; bytes after them can
 * have it too.  *LEN limits the size of a read, so adjacent units of the sample
 * are joined.
 */
bool selection_has (const struct selection *selection, uint64_t offset,
                    uint64_t *len);

#endif /* BLKSUM_RANGES_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The encoding of a manifest: its header, which is text, and the binary numbers
 * and the CRCs in its records.  blkhash-manifest(5) describes the format.
 */

#ifndef BLKHASH_MANIFEST_FORMAT_H
#define BLKHASH_MANIFEST_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blkhash_opts;

#define MANIFEST_HEADER_SIZE 512
#define MANIFEST_PLAN_DIGITS 64 /* of the value of the key "plan" */

/* A record begins with two numbers of 8 bytes, the head: its first block and
 * its number of blocks.  In the end record, the last one, they are MANIFEST_END
 * and the number of blocks in all records.  A record ends with two numbers of 4
 * bytes, the tail: its CRC and 0.
 */
#define MANIFEST_HEAD_SIZE 16
#define MANIFEST_TAIL_SIZE 8
#define MANIFEST_END UINT64_MAX
#define MANIFEST_ZERO_RUN (UINT64_C (1) << 63) /* flag in the number of blocks
                                                * of a record: all of these
                                                * blocks are zeros */
#define MANIFEST_MAX_LEAVES 65536 /* in a record of data */

struct manifest_header {
  struct blkhash_opts *opts;
  uint64_t size;                /* of the image, bytes */
  uint64_t first, count;        /* first block and number of blocks */
  char plan[MANIFEST_PLAN_DIGITS + 1]; /* the value of the key "plan", or
                                        * empty */
};

/* Returns the number of blocks of the image. */
uint64_t manifest_image_blocks (const struct manifest_header *header);

/* Returns true if FIRST and COUNT are those of all blocks of the image.  Only
 * such a manifest has a sum.
 */
bool manifest_is_complete (const struct manifest_header *header);

/* Encode HEADER into BYTES. */
void manifest_header_print (const struct manifest_header *header,
                            unsigned char bytes[MANIFEST_HEADER_SIZE]);

/* Parse BYTES into HEADER, which the caller must have set to zero.  The caller
 * frees header->opts, also after an error.  Returns 0; EBADMSG or ENOTSUP with
 * the reason in *WHY, a static string; or ENOMEM, and then *WHY means nothing.
 */
int manifest_header_parse (const unsigned char bytes[MANIFEST_HEADER_SIZE],
                           struct manifest_header *header, const char **why);

/* ---- Little-endian numbers ---- */

/* Store and load a number of SIZE bytes, at most 8. */
static inline void
manifest_put (unsigned char *bytes, uint64_t value, size_t size)
{
  size_t i;

  for (i = 0; i < size; i++)
    bytes[i] = value >> (8 * i);
}

static inline uint64_t
manifest_get (const unsigned char *bytes, size_t size)
{
  uint64_t value = 0;

  while (size > 0)
    value = value << 8 | bytes[--size];
  return value;
}

/* ---- The CRC ----
 *
 * CRC32C, the CRC of Castagnoli's polynomial, as in RFC 3720.  Thread-safe.
 */

/* Continue a CRC: CRC is that of the data before BUF, or 0 if there is none.
 * Returns the CRC of that data and the LEN bytes of BUF.
 */
uint32_t crc32c (uint32_t crc, const void *buf, size_t len);

/* The same, without the CPU's instructions for CRC32C.  For crc32c on a CPU
 * that lacks them, and for tests.
 */
uint32_t crc32c_portable (uint32_t crc, const void *buf, size_t len);

#endif /* BLKHASH_MANIFEST_FORMAT_H */

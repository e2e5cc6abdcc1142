/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first bytes of a source that was read as a raw image, without -f raw.
 * They show whether it is something that contains the image, such as compressed
 * data.  They are taken from the data that is hashed: nothing is read for them.
 */

#ifndef BLKSUM_FIRST_BYTES_H
#define BLKSUM_FIRST_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FIRST_BYTES 512

struct first_bytes {
  bool needed;                  /* false if the user gave the format, or it is
                                 * not raw, or this is a block device */
  size_t len;                   /* 0 until data at offset 0 was read; stays 0
                                 * if there is a hole, or if the start was not
                                 * read */
  unsigned char bytes[FIRST_BYTES];
};

/* Set FIRST, unless the bytes are not needed, to the start of the LEN bytes of
 * BUF, which are at OFFSET of the image.  Not thread-safe: data at offset 0 is
 * read once, and FIRST is used after the read has ended.
 */
static inline void
first_bytes_set (struct first_bytes *first, const void *buf, size_t len,
                 uint64_t offset)
{
  if (!first->needed || offset != 0)
    return;
  first->len = len < FIRST_BYTES ? len : FIRST_BYTES;
  memcpy (first->bytes, buf, first->len);
}

#endif /* BLKSUM_FIRST_BYTES_H */

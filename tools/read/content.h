/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plain digests of the content of an image, such as its SHA-256, which are
 * computed while a scan fills a leaf table.
 *
 * A plain digest needs the bytes in order, but a reader reads and hashes ranges
 * in any order.  So a reader does not free a buffer that it has hashed, but
 * adds it here: its ranges become pieces, which are kept in the order of the
 * image.  Each digest has a thread, which hashes the piece at its position, or
 * waits until there is one.  When all digests have passed all pieces of a
 * buffer, the buffer is released to the reader.  So data is not copied, and a
 * thread of the reader waits for the digests only if it needs memory: see
 * MAX_HELD in reader.c.
 *
 * Zeros are pieces without a buffer.  They are hashed like data, from a page of
 * zeros.  Adjacent zeros are one piece, so there are few: between two pieces of
 * zeros is data, in a buffer.
 */

#ifndef BLKSUM_CONTENT_H
#define BLKSUM_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct content;
struct content_sums;
struct error;
struct progress;

/* A range of the image that was read, or is zero. */
struct content_piece {
  struct content_piece *next;   /* the one after it in the image */
  uint64_t offset, len;         /* bytes */
  const unsigned char *data;    /* NULL: zeros, and the piece is allocated */
  struct buffer *buffer;        /* to be released after this piece; or NULL */
};

/* Create an object that computes the digests of SUMS, of which there is at
 * least one.  Returns NULL with the reason in ERROR on failure.
 */
struct content *content_create (const struct content_sums *sums,
                                struct error *error);

/* Stop the threads, and free CONTENT, which can be NULL.  All buffers must have
 * been released.
 */
void content_free (struct content *content);

/* ---- For a reader; thread-safe ---- */

/* Called by the threads of the digests each time that all digests have
 * advanced.  BUFFER, unless it is NULL, is not needed any more.
 */
typedef void (*content_advanced_function) (void *opaque, struct buffer *buffer);

/* Set the function for the buffers of a reader, and what counts the bytes that
 * all digests have passed, which can be NULL.
 */
void content_attach (struct content *content,
                     content_advanced_function advanced, void *opaque,
                     const struct progress *progress);

/* Add the COUNT pieces of a buffer, in their order.  The last one has the
 * buffer.  The pieces are in use until the buffer is released.
 */
void content_add_data (struct content *content, struct content_piece *pieces,
                       unsigned count);

/* Returns the offset up to which all digests have hashed the image. */
uint64_t content_position (struct content *content);

/* Wait until the digests have hashed all that was added, or are stopped, but at
 * most TIMEOUT ns.  Returns true if they have.
 */
bool content_wait (struct content *content, uint64_t timeout);

/* Stop the digests, which cannot be computed any more. */
void content_stop (struct content *content);

/* Release all buffers, after content_wait has returned true: the reader ends.
 */
void content_detach (struct content *content);

/* ---- For a scan; thread-safe ---- */

/* Add LEN zeros at OFFSET.  Returns 0 or ENOMEM. */
int content_add_zero (struct content *content, uint64_t len, uint64_t offset);

/* ---- The end ---- */

/* Store the digests of an image of SIZE bytes in SUMS.  Returns 0; or -1 with
 * the reason in ERROR.
 */
int content_finish (struct content *content, uint64_t size,
                    struct content_sums *sums, struct error *error);

#endif /* BLKSUM_CONTENT_H */

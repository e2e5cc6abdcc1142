/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Buffered input from a file or pipe, from its current offset to its end.
 */

#ifndef BLKHASH_MANIFEST_INPUT_H
#define BLKHASH_MANIFEST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* READ is called with all bytes that are read from the file, in order.  POLL,
 * unless NULL, is called once for 65536 blocks, before these are added to the
 * sum.  Without a sum, it is called after a record was read.  If it returns an
 * error, the reader returns that error.
 */
struct manifest_observer {
  void (*read) (void *opaque, const void *bytes, size_t len);
  int (*poll) (void *opaque);
  void *opaque;
};

struct manifest_input {
  int fd;
  struct manifest_observer observer; /* all zero if there is none */
  uint64_t offset;              /* number of bytes consumed */
  uint64_t left;                /* number of bytes not consumed; UINT64_MAX if
                                 * the input is not a regular file */
  unsigned char *buf;
  size_t size;                  /* size of BUF */
  size_t start, end;            /* part of BUF that is not consumed */
};

void manifest_input_init (struct manifest_input *input, int fd);
void manifest_input_destroy (struct manifest_input *input);

/* Returns false if the input is a regular file that, by its size when INPUT was
 * initialized, has fewer than LEN bytes left.
 */
bool manifest_input_may_have (const struct manifest_input *input,
                              uint64_t len);

/* Read until LEN bytes are in the buffer, and set *BYTES to their address,
 * which is valid until the next call.  They are not consumed.  The buffer grows
 * only as bytes arrive, so a false length in the file takes no memory.  Returns
 * 0; ENODATA if the input ends earlier; ENOMEM; or the error of read(2), with
 * EIO in place of ENODATA, ENOENT and EBADMSG.
 */
int manifest_input_peek (struct manifest_input *input, size_t len,
                         const unsigned char **bytes);

/* Consume LEN bytes, which must be in the buffer. */
void manifest_input_take (struct manifest_input *input, size_t len);

#endif /* BLKHASH_MANIFEST_INPUT_H */

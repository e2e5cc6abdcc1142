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

/* Called with all bytes that are read, in order. */
struct manifest_observer {
  void (*read) (void *opaque, const void *bytes, size_t len);
  void *opaque;
};

struct manifest_input {
  int fd;
  struct manifest_observer observer; /* or zeros */
  uint64_t offset;              /* bytes consumed */
  uint64_t left;                /* bytes not consumed; a pipe: UINT64_MAX */
  unsigned char *buf;
  size_t size;                  /* of BUF */
  size_t start, end;            /* bytes read and not consumed */
};

void manifest_input_init (struct manifest_input *input, int fd);
void manifest_input_destroy (struct manifest_input *input);

/* Are there LEN bytes?  Always true for a pipe. */
bool manifest_input_may_have (const struct manifest_input *input,
                              uint64_t len);

/* Read until LEN bytes are in the buffer, and store their address, which is
 * valid until the next call.  They are not consumed.  Memory grows as they
 * arrive.  ENODATA: the input ends before; ENOMEM; the error of read(2).
 */
int manifest_input_peek (struct manifest_input *input, size_t len,
                         const unsigned char **bytes);

/* Consume LEN bytes of the buffer. */
void manifest_input_take (struct manifest_input *input, size_t len);

#endif /* BLKHASH_MANIFEST_INPUT_H */

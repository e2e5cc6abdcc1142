/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bytes of a file or pipe, from where it stands to its end, a piece at a time.
 *
 * It knows nothing of what they mean.
 */

#ifndef BLKHASH_MANIFEST_INPUT_H
#define BLKHASH_MANIFEST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct manifest_input {
  int fd;
  uint64_t offset;              /* bytes that were taken */
  uint64_t left;                /* not taken, as far as anybody can tell */
  unsigned char *buf;
  size_t size;                  /* of BUF */
  size_t start, end;            /* what was read and not taken */
};

void manifest_input_init (struct manifest_input *input, int fd);
void manifest_input_destroy (struct manifest_input *input);

/* Could there be LEN bytes?  Of a file this is so or it is not. */
bool manifest_input_may_have (const struct manifest_input *input,
                              uint64_t len);

/* Read until there are LEN bytes, and store where they are, until the next
 * call.  They are not taken.  Memory grows as they arrive.  ENODATA: there are
 * less; ENOMEM; what read(2) said.
 */
int manifest_input_peek (struct manifest_input *input, size_t len,
                         const unsigned char **bytes);

/* Take LEN of the bytes that were found. */
void manifest_input_take (struct manifest_input *input, size_t len);

#endif /* BLKHASH_MANIFEST_INPUT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Buffered output to a file or pipe, from its current offset.
 */

#ifndef BLKHASH_MANIFEST_OUTPUT_H
#define BLKHASH_MANIFEST_OUTPUT_H

#include <stddef.h>

struct manifest_output {
  int fd;
  unsigned char *buf;
  size_t size, used;            /* bytes of BUF, and bytes of it that are not
                                 * written yet */
};

/* Returns 0 or ENOMEM. */
int manifest_output_init (struct manifest_output *output, int fd);
void manifest_output_destroy (struct manifest_output *output);

/* Append LEN bytes for the caller to fill, and return their address, which is
 * valid until the next call.  Returns NULL if there is no memory.
 */
unsigned char *manifest_output_append (struct manifest_output *output,
                                       size_t len);

/* Write the buffer.  Returns 0, or the error of write(2).  After an error the
 * caller must not write again, because part of the buffer may be in the file.
 */
int manifest_output_write (struct manifest_output *output);

#endif /* BLKHASH_MANIFEST_OUTPUT_H */

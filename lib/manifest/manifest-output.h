/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bytes to a file or pipe, from where it stands, put together in a buffer.
 *
 * It knows nothing of what they mean.
 */

#ifndef BLKHASH_MANIFEST_OUTPUT_H
#define BLKHASH_MANIFEST_OUTPUT_H

#include <stddef.h>

struct manifest_output {
  int fd;
  unsigned char *buf;
  size_t size, used;            /* bytes; those that were not written */
};

/* 0 or ENOMEM. */
int manifest_output_init (struct manifest_output *output, int fd);
void manifest_output_destroy (struct manifest_output *output);

/* Make room for LEN bytes, which are used then.  They may move with the next
 * call.  NULL: no memory.
 */
unsigned char *manifest_output_append (struct manifest_output *output,
                                       size_t len);

/* Write all that is there.  0, or what write(2) said. */
int manifest_output_write (struct manifest_output *output);

#endif /* BLKHASH_MANIFEST_OUTPUT_H */

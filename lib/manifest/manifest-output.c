/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "manifest/manifest-output.h"

#define FIRST_SIZE 1024         /* initial size of the buffer, bytes */

int
manifest_output_init (struct manifest_output *output, int fd)
{
  *output = (struct manifest_output) {
    .fd = fd, .buf = malloc (FIRST_SIZE), .size = FIRST_SIZE
  };
  return output->buf ? 0 : ENOMEM;
}

void
manifest_output_destroy (struct manifest_output *output)
{
  free (output->buf);
}

unsigned char *
manifest_output_append (struct manifest_output *output, size_t len)
{
  unsigned char *bytes;

  if (len > output->size - output->used) {
    size_t size = 2 * output->size;

    while (size - output->used < len)
      size *= 2;
    bytes = realloc (output->buf, size);
    if (!bytes)
      return NULL;
    output->buf = bytes;
    output->size = size;
  }
  bytes = output->buf + output->used;
  output->used += len;
  return bytes;
}

int
manifest_output_write (struct manifest_output *output)
{
  size_t done = 0;

  while (done < output->used) {
    ssize_t n = write (output->fd, output->buf + done, output->used - done);

    if (n == -1 && errno != EINTR)
      return errno;
    if (n > 0)
      done += n;
  }
  output->used = 0;
  return 0;
}

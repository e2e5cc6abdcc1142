/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/numbers.h"
#include "manifest/manifest-input.h"

#define FIRST_SIZE (64 * 1024)  /* initial size of the buffer, bytes */

/* The number of bytes left is known for a regular file only. */
void
manifest_input_init (struct manifest_input *input, int fd)
{
  off_t offset = lseek (fd, 0, SEEK_CUR);
  struct stat st;

  *input = (struct manifest_input) { .fd = fd, .left = UINT64_MAX };
  if (offset != -1 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode))
    input->left = st.st_size > offset ? st.st_size - offset : 0;
}

void
manifest_input_destroy (struct manifest_input *input)
{
  free (input->buf);
}

bool
manifest_input_may_have (const struct manifest_input *input, uint64_t len)
{
  return len <= input->left;
}

/* Make room for more input, because LEN bytes are needed, and fewer are in the
 * buffer.  Its size is at most doubled, so that it grows only as bytes arrive.
 */
static int
make_room (struct manifest_input *input, size_t len)
{
  size_t have = input->end - input->start, size = input->size;
  unsigned char *buf;

  if (have > 0 && input->start > 0)
    memmove (input->buf, input->buf + input->start, have);
  input->start = 0;
  input->end = have;
  if (have < size)
    return 0;
  size = size ? 2 * size : FIRST_SIZE;
  if (size > len && size > FIRST_SIZE)
    size = len;
  buf = realloc (input->buf, size);
  if (!buf)
    return ENOMEM;
  input->buf = buf;
  input->size = size;
  return 0;
}

/* Convert an error of read(2).  File systems can return the values that have a
 * meaning here, for instance EBADMSG if a checksum of their metadata is wrong.
 * The caller would take ENODATA for the end of the input, ENOENT for the end of
 * a valid manifest, and EBADMSG for a damaged one.
 */
static int
read_error (int err)
{
  return err == ENODATA || err == ENOENT || err == EBADMSG ? EIO : err;
}

int
manifest_input_peek (struct manifest_input *input, size_t len,
                     const unsigned char **bytes)
{
  while (input->end - input->start < len) {
    ssize_t n;

    if (input->end == input->size || input->start > 0) {
      int err = make_room (input, len);

      if (err)
        return err;
    }
    n = read (input->fd, input->buf + input->end, input->size - input->end);
    if (n == -1 && errno != EINTR)
      return read_error (errno);
    if (n == 0)
      return ENODATA;
    if (n > 0 && input->observer.read)
      input->observer.read (input->observer.opaque, input->buf + input->end, n);
    if (n > 0)
      input->end += n;
  }
  *bytes = input->buf + input->start;
  return 0;
}

void
manifest_input_take (struct manifest_input *input, size_t len)
{
  input->start += len;
  input->offset += len;
  if (input->left != UINT64_MAX)
    input->left -= MIN (len, input->left);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open image file of a known size.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/imagefile.h"
#include "io/read.h"

int
imagefile_error (const struct imagefile *file, struct error *error,
                 const char *fmt, ...)
{
  char text[sizeof error->text];
  va_list args;

  va_start (args, fmt);
  vsnprintf (text, sizeof text, fmt, args);
  va_end (args);
  if (file->name)
    return error_set (error, "'%s': %s", file->name, text);
  return error_set (error, "%s", text);
}

int
imagefile_check (const struct imagefile *file, const char *what,
                 uint64_t offset, uint64_t len, struct error *error)
{
  if (imagefile_holds (file, offset, len))
    return 0;
  return imagefile_error (file, error,
                          "the image is truncated or corrupt: %s at offset "
                          "%" PRIu64 " (%" PRIu64 " bytes) passes the end of "
                          "the file (%" PRIu64 " bytes)",
                          what, offset, len, file->size);
}

int
imagefile_check_table (const struct imagefile *file, const char *what,
                       uint64_t offset, uint64_t len, struct error *error)
{
  if (imagefile_check (file, what, offset, len, error) == -1)
    return -1;
  if (len > IMAGEFILE_TABLE_MAX)
    return imagefile_error (file, error, "refused because %s has %" PRIu64
                            " bytes, more than the %" PRIu64 " MiB of memory "
                            "that an image may take", what, len,
                            IMAGEFILE_TABLE_MAX >> 20);
  return 0;
}

/* Read to BUF what the file has of LEN bytes at OFFSET, but at least MIN. */
static int
read_at_least (const struct imagefile *file, const char *what,
               unsigned char *buf, size_t len, size_t min, uint64_t offset,
               struct error *error)
{
  size_t done = 0;

  while (done < min) {
    ssize_t n = pread (file->fd, buf + done, len - done,
                       (off_t) (offset + done));

    if (n == -1 && errno == EINTR)
      continue;
    if (n == -1) {
      int errnum = errno;

      imagefile_error (file, error, "cannot read %s: %s", what,
                       strerror (errnum));
      return -1;
    }
    if (n == 0)
      return imagefile_error (file, error, "the file became shorter while "
                              "it was read");
    done += n;
  }
  return 0;
}

/* Direct I/O is for whole pages. */
static int
read_direct (const struct imagefile *file, const char *what, void *buf,
             size_t len, uint64_t offset, struct error *error)
{
  size_t before = offset % READ_ALIGN;
  size_t pages = (before + len + READ_ALIGN - 1) / READ_ALIGN;
  void *bounce;
  int r;

  if (posix_memalign (&bounce, READ_ALIGN, pages * READ_ALIGN) != 0)
    return imagefile_error (file, error, "out of memory");
  r = read_at_least (file, what, bounce, pages * READ_ALIGN, before + len,
                     offset - before, error);
  if (r == 0)
    memcpy (buf, (char *) bounce + before, len);
  free (bounce);
  return r;
}

int
imagefile_read (const struct imagefile *file, const char *what,
                void *buf, size_t len, uint64_t offset, struct error *error)
{
  if (imagefile_check (file, what, offset, len, error) == -1)
    return -1;
  offset += file->start;
  return file->direct ? read_direct (file, what, buf, len, offset, error)
    : read_at_least (file, what, buf, len, len, offset, error);
}

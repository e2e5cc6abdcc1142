/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read parts of an image.  A part that passes the end of the image is an error.
 */

#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/imagefile.h"

int
imagefile_error (const struct imagefile *file, struct error *error,
                 const char *fmt, ...)
{
  char text[sizeof error->text];
  va_list args;

  va_start (args, fmt);
  vsnprintf (text, sizeof text, fmt, args);
  va_end (args);
  return error_about (error, imagefile_name (file), "%s", text);
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

int
imagefile_read (const struct imagefile *file, const char *what,
                void *buf, size_t len, uint64_t offset, struct error *error)
{
  int err;

  if (imagefile_check (file, what, offset, len, error) == -1)
    return -1;
  err = file_read_table (file->file, buf, len, file->start + offset);
  if (err == 0)
    return 0;
  if (err == -1)
    return imagefile_error (file, error, "the file became shorter while "
                            "it was read");
  return imagefile_error (file, error, "cannot read %s: %s", what,
                          strerror (err));
}

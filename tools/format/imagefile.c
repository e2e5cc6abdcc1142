/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "io/file.h"

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

/* ---- Pages ---- */

#define AHEAD 65536             /* bytes to prefetch */

int
pages_init (struct pages *pages, const struct imagefile *file,
            struct error *error)
{
  pages->file = file;
  pages->prefetched = 0;
  memset (pages->at, 0xff, sizeof pages->at);
  pages->bytes = malloc (PAGES_COUNT * PAGES_SIZE);
  if (!pages->bytes)
    return imagefile_error (file, error, "out of memory");
  return 0;
}

void
pages_destroy (struct pages *pages)
{
  free (pages->bytes);
}

/* Prefetch AHEAD bytes of pages from START on, because they are likely to be
 * needed next, and reading several pages takes no longer than reading one.
 */
static void
prefetch (const struct imagefile *file, uint64_t start)
{
  file_prefetch_table (file->file, MIN (AHEAD, file->size - start),
                       file->start + start);
}

const unsigned char *
pages_entry (struct pages *pages, const char *what, uint64_t offset,
             size_t size, struct error *error)
{
  uint64_t number = offset / PAGES_SIZE;
  uint64_t start = number * PAGES_SIZE;
  unsigned slot = number % PAGES_COUNT;
  unsigned char *page = pages->bytes + slot * PAGES_SIZE;

  if (imagefile_check (pages->file, what, offset, size, error) == -1)
    return NULL;
  if (pages->at[slot] != number) {
    uint64_t len = MIN (PAGES_SIZE, pages->file->size - start);

    pages->at[slot] = UINT64_MAX;
    prefetch (pages->file, ROUND_DOWN (start, (uint64_t) AHEAD));
    if (imagefile_read (pages->file, what, page, len, start, error) == -1)
      return NULL;
    pages->at[slot] = number;
  }
  return page + offset % PAGES_SIZE;
}

uint64_t
pages_rest (const struct pages *pages, uint64_t offset, uint64_t left,
            size_t size)
{
  uint64_t page_rest = PAGES_SIZE - offset % PAGES_SIZE;
  uint64_t rest = MIN (page_rest, pages->file->size - offset);

  return MIN (rest / size, left);
}

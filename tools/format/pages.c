/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/pages.h"
#include "io/file.h"

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

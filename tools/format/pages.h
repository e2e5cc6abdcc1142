/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pieces of the tables of an image, which are kept while it is read.  What is
 * in a table is not known here.
 */

#ifndef BLKSUM_PAGES_H
#define BLKSUM_PAGES_H

#include <stdint.h>

#include "format/imagefile.h"

/* As many as these are kept, whatever the size of the image. */
#define PAGES_BITS 12
#define PAGES_SIZE (1 << PAGES_BITS) /* bytes of a page */
#define PAGES_COUNT 64

struct pages {
  const struct imagefile *file;
  unsigned char *bytes;         /* page N is in slot N % PAGES_COUNT */
  uint64_t at[PAGES_COUNT];     /* which it is */
  uint64_t prefetched;          /* for qcow2_prefetch */
};

/* FILE must stay until the end.  0 or -1. */
int pages_init (struct pages *pages, const struct imagefile *file,
                struct error *error);

/* Also of what is all zeros. */
void pages_destroy (struct pages *pages);

/* The entry at OFFSET of the file, a multiple of its SIZE; the rest of its
 * page is behind it.  WHAT tells the user what it belongs to.  It stays until
 * the next call.  NULL on error.
 */
const unsigned char *pages_entry (struct pages *pages, const char *what,
                                  uint64_t offset, size_t size,
                                  struct error *error);

/* How many of LEFT entries, from the one at OFFSET of the file, which was read,
 * are in its page?
 */
uint64_t pages_rest (const struct pages *pages, uint64_t offset,
                     uint64_t left, size_t size);

#endif /* BLKSUM_PAGES_H */

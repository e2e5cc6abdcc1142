/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A cache of pages of the tables of an image.  The content of the tables is up
 * to the caller.
 */

#ifndef BLKSUM_PAGES_H
#define BLKSUM_PAGES_H

#include <stdint.h>

#include "format/imagefile.h"

/* The number of pages in the cache does not depend on the size of the image. */
#define PAGES_BITS 12
#define PAGES_SIZE (1 << PAGES_BITS) /* bytes of a page */
#define PAGES_COUNT 64

struct pages {
  const struct imagefile *file;
  unsigned char *bytes;         /* page N is in slot N % PAGES_COUNT */
  uint64_t at[PAGES_COUNT];     /* the number N in each slot */
  uint64_t prefetched;          /* for qcow2_prefetch */
};

/* FILE must exist until pages_destroy.  0 or -1. */
int pages_init (struct pages *pages, const struct imagefile *file,
                struct error *error);

/* PAGES can be all zeros. */
void pages_destroy (struct pages *pages);

/* Read the entry at OFFSET of the file, a multiple of its SIZE.  The rest of
 * its page follows it.  Messages call the table WHAT.  The entry is valid until
 * the next call.  NULL on error.
 */
const unsigned char *pages_entry (struct pages *pages, const char *what,
                                  uint64_t offset, size_t size,
                                  struct error *error);

/* The number of entries in the page of the one at OFFSET, which was read: from
 * that one on, LEFT at most.
 */
uint64_t pages_rest (const struct pages *pages, uint64_t offset,
                     uint64_t left, size_t size);

#endif /* BLKSUM_PAGES_H */

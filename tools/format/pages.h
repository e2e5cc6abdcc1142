/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A cache of pages of the tables of an image.  The caller interprets the
 * content of the tables.  Not thread-safe: the caller holds a lock.
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
  unsigned char *bytes;         /* PAGES_COUNT slots; page N is in slot N %
                                 * PAGES_COUNT */
  uint64_t at[PAGES_COUNT];     /* number N of the page in each slot, or
                                 * UINT64_MAX */
  uint64_t prefetched;          /* for qcow2_prefetch: the first L1 index whose
                                 * L2 table is not prefetched yet */
};

/* FILE must outlive PAGES.  Returns 0, or -1 on error. */
int pages_init (struct pages *pages, const struct imagefile *file,
                struct error *error);

/* Also allowed if PAGES is all zero, or after pages_init has failed. */
void pages_destroy (struct pages *pages);

/* Returns the entry of SIZE bytes at OFFSET in the file, or NULL on error.
 * OFFSET is a multiple of SIZE, which is a power of two.  The next entries of
 * the same page follow in memory: see pages_rest.  WHAT names the table in
 * messages.  The result is valid until the next call of pages_entry.
 */
const unsigned char *pages_entry (struct pages *pages, const char *what,
                                  uint64_t offset, size_t size,
                                  struct error *error);

/* OFFSET and SIZE are those of the last call of pages_entry.  Returns how many
 * entries are in memory from the result of that call on: all up to the end of
 * the page or of the file, but at most LEFT.
 */
uint64_t pages_rest (const struct pages *pages, uint64_t offset,
                     uint64_t left, size_t size);

#endif /* BLKSUM_PAGES_H */

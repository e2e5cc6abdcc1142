/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image in a file or in a part of a file, and functions for parsers of image
 * formats to read it and to decode numbers.  The content is untrusted: a range
 * beyond the end of the image is an error, never a short read.
 */

#ifndef BLKSUM_IMAGEFILE_H
#define BLKSUM_IMAGEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/file.h"
#include "util/error.h"

/* ---- A run: a range of the disk, and where the tables map it ---- */

enum run_kind {
  RUN_DATA,                     /* stored at offset HOST */
  RUN_ZEROS,
  RUN_UNALLOCATED,              /* read from the backing file, or zeros if
                                 * there is none */
  RUN_QEMU,                     /* left to qemu: compressed, or an invalid
                                 * entry */
};

struct run {
  enum run_kind kind;
  uint64_t len;                 /* bytes, at least 1 */
  uint64_t host;                /* offset in the image file, in bytes; only for
                                 * RUN_DATA */
};

/* Can NEXT, which is directly after RUN on the disk, be added to RUN? */
static inline bool
run_continues (const struct run *run, const struct run *next)
{
  return next->kind == run->kind &&
    (run->kind != RUN_DATA || next->host == run->host + run->len);
}

/* ---- Reads ---- */

/* The maximum size, in bytes, of a table that qemu keeps in memory; for several
 * tables that are counted together (bitmaps, vmdk extents), their sum.  The
 * table of a disk of 64 TiB has 256 MiB if it has 4 bytes for each block of 1
 * MiB, or 8 bytes for each cluster of 2 MiB.  Other limits apply to the table
 * of a vhdx (MAX_BAT, slightly more), and to the L1 table of a qcow2 and the
 * grain directory of a sparse vmdk (those of qemu, less).
 */
#define IMAGEFILE_TABLE_MAX (UINT64_C (512) << 20)

struct imagefile {
  const struct file *file;
  uint64_t start;               /* offset of the image in the file, bytes */
  uint64_t size;                /* size of the image, bytes */
};

/* Returns an image that is all of FILE. */
static inline struct imagefile
imagefile_of (const struct file *file)
{
  return (struct imagefile) { .file = file, .size = file->size };
}

/* Returns the path of the file for messages, or NULL if the file is the operand
 * of blksum, whose name is printed before each message anyway.
 */
static inline const char *
imagefile_name (const struct imagefile *file)
{
  return file->file->named ? file->file->path : NULL;
}

/* Returns true if the image contains the LEN bytes at OFFSET. */
static inline bool
imagefile_holds (const struct imagefile *file, uint64_t offset, uint64_t len)
{
  return offset <= file->size && len <= file->size - offset;
}

/* Check that the image contains the LEN bytes at OFFSET.  WHAT names them in
 * messages.  Returns 0, or -1 on error.
 */
int imagefile_check (const struct imagefile *file, const char *what,
                     uint64_t offset, uint64_t len, struct error *error);

/* The same for a table that qemu keeps in memory.  A table of more than
 * IMAGEFILE_TABLE_MAX bytes is an error, too, because qemu allocates whatever
 * size the header gives.
 */
int imagefile_check_table (const struct imagefile *file, const char *what,
                           uint64_t offset, uint64_t len,
                           struct error *error);

/* Read LEN bytes at OFFSET.  WHAT names them in messages.  Returns 0, or -1 on
 * error.
 */
int imagefile_read (const struct imagefile *file, const char *what,
                    void *buf, size_t len, uint64_t offset,
                    struct error *error);

/* Set an error whose text names the file, unless the file is the operand.
 * Always returns -1.
 */
int imagefile_error (const struct imagefile *file, struct error *error,
                     const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* Decode numbers at any alignment. */
static inline uint32_t
le32_at (const void *p)
{
  const unsigned char *b = p;

  return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t) b[3] << 24;
}

static inline uint64_t
le64_at (const void *p)
{
  const unsigned char *b = p;

  return le32_at (b) | (uint64_t) le32_at (b + 4) << 32;
}

static inline uint32_t
be32_at (const void *p)
{
  const unsigned char *b = p;

  return (uint32_t) b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

static inline uint64_t
be64_at (const void *p)
{
  const unsigned char *b = p;

  return (uint64_t) be32_at (b) << 32 | be32_at (b + 4);
}

/* ---- Pages ---- */

/* A cache of pages of the tables of an image.  The caller interprets the
 * content of the tables.  Used by one thread at a time.  The number of pages
 * does not depend on the size of the image.
 */
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

#endif /* BLKSUM_IMAGEFILE_H */

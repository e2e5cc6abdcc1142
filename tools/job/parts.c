/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files with the manifests of the parts of one image: their headers.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/memstream.h"
#include "job/manifest.h"
#include "job/parts.h"
#include "util/error.h"
#include "util/part.h"

/* ---- A file ---- */

static int
open_regular (const char *path, struct stat *st, struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  if (fstat (fd, st) == 0 && S_ISREG (st->st_mode))
    return fd;
  close (fd);
  return error_set (error, "is not a regular file, and a part is read more "
                    "than once");
}

/* Returns the descriptor, or -1. */
static int
open_part (const char *path, struct stat *st,
           struct blkhash_manifest_reader **reader, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  int fd = open_regular (path, st, error);

  if (fd == -1)
    return -1;
  *reader = blkhash_manifest_reader_new (fd, 0, reason, sizeof reason);
  if (*reader)
    return fd;
  close (fd);
  return error_set (error, "%s", reason);
}

static bool
is_same_time (const struct timespec *a, const struct timespec *b)
{
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool
is_same_file (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
    a->st_size == b->st_size && is_same_time (&a->st_mtim, &b->st_mtim) &&
    is_same_time (&a->st_ctim, &b->st_ctim);
}

int
parts_reopen (const struct parts *parts, const struct part_file *file,
              struct blkhash_manifest_reader **reader,
              struct error *error)
{
  struct stat st;
  uint64_t first, count;
  int fd = open_part (file->path, &st, reader, error);

  if (fd == -1)
    return -1;
  blkhash_manifest_reader_blocks (*reader, &first, &count);
  if (is_same_file (&st, &file->st) && first == file->first &&
      first + count == file->end &&
      blkhash_manifest_reader_size (*reader) == parts->size &&
      blkhash_opts_same_hash (blkhash_manifest_reader_opts (*reader),
                              parts->opts))
    return fd;
  blkhash_manifest_reader_free (*reader);
  close (fd);
  return error_set (error, "it changed while it was read");
}

/* ---- The image ---- */

static int
refuse_image (const struct parts *parts,
              const struct blkhash_manifest_reader *reader,
              struct error *error)
{
  char tag[BLKHASH_MAX_TAG_SIZE], other_tag[BLKHASH_MAX_TAG_SIZE];

  blkhash_opts_get_tag (blkhash_manifest_reader_opts (reader), tag, sizeof tag);
  blkhash_opts_get_tag (parts->opts, other_tag, sizeof other_tag);
  return error_set (error, "is of another image than %s: %s of %" PRIu64
                    " bytes, not %s of %" PRIu64, parts->files[0].path, tag,
                    blkhash_manifest_reader_size (reader), other_tag,
                    parts->size);
}

/* Set the hash parameters and the size of the image from the first file.  They
 * must be the same in all other files.
 */
static int
set_image (struct parts *parts, const struct hash_request *request,
           const struct blkhash_manifest_reader *reader, struct error *error)
{
  const struct blkhash_opts *opts = blkhash_manifest_reader_opts (reader);
  uint32_t block_size = blkhash_opts_get_block_size (opts);

  if (job_manifest_check_params (request, opts, error) == -1)
    return -1;
  parts->size = blkhash_manifest_reader_size (reader);
  parts->blocks = parts->size / block_size + (parts->size % block_size != 0);
  parts->opts = blkhash_opts_copy (opts);
  return parts->opts ? 0 : error_errno (error, errno, "cannot merge");
}

static int
add_file (struct parts *parts, const struct hash_request *request,
          const char *path, struct error *error)
{
  struct part_file *file = &parts->files[parts->count];
  struct blkhash_manifest_reader *reader;
  uint64_t count;
  int fd, r = 0;

  *file = (struct part_file) { .path = path };
  fd = open_part (path, &file->st, &reader, error);
  if (fd == -1)
    return -1;
  if (!parts->opts)
    r = set_image (parts, request, reader, error);
  else if (blkhash_manifest_reader_size (reader) != parts->size ||
           !blkhash_opts_same_hash (blkhash_manifest_reader_opts (reader),
                                    parts->opts))
    r = refuse_image (parts, reader, error);
  blkhash_manifest_reader_blocks (reader, &file->first, &count);
  file->end = file->first + count;
  parts->count++;
  blkhash_manifest_reader_free (reader);
  close (fd);
  return r;
}

/* Compare the positions of two parts in the image.  A part without blocks is
 * sorted before any other part that starts at the same block.
 */
static int
compare_files (const void *a, const void *b)
{
  const struct part_file *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

int
parts_open (struct parts *parts, const struct hash_request *request,
            char **paths, size_t count, const char **operand,
            struct error *error)
{
  size_t i;

  *parts = (struct parts) {
    .files = calloc (count, sizeof (struct part_file))
  };
  *operand = paths[0];
  if (!parts->files)
    return error_errno (error, errno, "cannot merge");
  for (i = 0; i < count; i++) {
    *operand = paths[i];
    if (add_file (parts, request, paths[i], error) == -1)
      return -1;
  }
  qsort (parts->files, count, sizeof (struct part_file), compare_files);
  return 0;
}

void
parts_close (struct parts *parts)
{
  free (parts->files);
  blkhash_opts_free (parts->opts);
}

/* ---- Completeness ---- */

/* Two parts with the same N of --part I/N have either the same blocks or no
 * block in common.  So it is an error if two parts share only some blocks.
 */
static int
check_overlaps (struct parts *parts, const char **operand, struct error *error)
{
  size_t i;

  for (i = 1; i < parts->count; i++) {
    struct part_file *file = &parts->files[i], *before = file - 1;

    if (file->first >= before->end)
      continue;
    file->duplicate = file->first == before->first && file->end == before->end;
    if (file->duplicate)
      continue;
    *operand = file->path;
    return error_set (error, "overlaps %s: all parts must be made with the "
                      "same N of --part I/N", before->path);
  }
  return 0;
}

static void
print_missing (const struct parts *parts, uint64_t block, uint64_t end,
               FILE *out)
{
  uint32_t block_size = blkhash_opts_get_block_size (parts->opts);
  uint64_t start = part_offset (block, parts->size, block_size);

  if (block < end)
    fprintf (out, "the %" PRIu64 " bytes at %" PRIu64 " are in no part\n",
             part_offset (end, parts->size, block_size) - start, start);
}

/* Check that no blocks are missing.  The parts do not overlap, except for
 * duplicates.
 */
static int
check_gaps (const struct parts *parts, struct error *error)
{
  char *missing = NULL;
  uint64_t block = 0;
  size_t i, size;
  FILE *out = open_memstream (&missing, &size);

  if (!out)
    return error_errno (error, errno, "cannot merge");
  for (i = 0; i < parts->count; i++) {
    const struct part_file *file = &parts->files[i];

    if (file->first == file->end)
      continue;
    print_missing (parts, block, file->first, out);
    block = file->end;
  }
  print_missing (parts, block, parts->blocks, out);
  if (!memstream_close (out, &missing))
    error_errno (error, errno, "cannot merge");
  else if (*missing)
    error_set_lines (error, missing);
  free (missing);
  return error_is_set (error) ? -1 : 0;
}

int
parts_check (struct parts *parts, const char **operand, struct error *error)
{
  if (check_overlaps (parts, operand, error) == -1)
    return -1;
  return check_gaps (parts, error);
}

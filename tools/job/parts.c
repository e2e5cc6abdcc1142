/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifests of parts of one image, in files: by their headers.
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

#include "../lib/common/sum-tag.h"
#include "job/kind.h"
#include "job/parts.h"
#include "util/error.h"

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

/* CRCs tell whether leaves are those that were written; and the sum of a whole
 * image is compared with that of all parts.
 */
static int
start (int fd, struct blkhash_manifest_reader **reader, struct error *error)
{
  *reader = blkhash_manifest_reader_new (fd, BLKHASH_MANIFEST_NO_SUM);
  if (!*reader)
    return error_errno (error, errno, "cannot read the manifest");
  if (blkhash_manifest_reader_start (*reader) == 0)
    return 0;
  error_set (error, "%s", blkhash_manifest_reader_error (*reader));
  blkhash_manifest_reader_free (*reader);
  *reader = NULL;
  return -1;
}

/* The descriptor, or -1. */
static int
open_part (const char *path, struct stat *st,
           struct blkhash_manifest_reader **reader, struct error *error)
{
  int fd = open_regular (path, st, error);

  if (fd == -1)
    return -1;
  if (start (fd, reader, error) == 0)
    return fd;
  close (fd);
  return -1;
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
parts_open_again (const struct parts *parts, const struct part_file *file,
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
      kind_is_same (blkhash_manifest_reader_opts (*reader), parts->opts))
    return fd;
  blkhash_manifest_reader_free (*reader);
  close (fd);
  return error_set (error, "it changed while it was read");
}

/* ---- All of one image ---- */

static int
refuse_image (const struct parts *parts,
              const struct blkhash_manifest_reader *reader,
              struct error *error)
{
  char *tag = sum_tag (blkhash_manifest_reader_opts (reader));
  char *other_tag = sum_tag (parts->opts);

  error_set (error, "is of another image than %s: %s of %" PRIu64 " bytes, not "
             "%s of %" PRIu64, parts->files[0].path, tag ? tag : "a sum",
             blkhash_manifest_reader_size (reader),
             other_tag ? other_tag : "a sum", parts->size);
  free (tag);
  free (other_tag);
  return -1;
}

/* What the first file says is so for all. */
static int
take_image (struct parts *parts, const struct options *options,
            const struct blkhash_manifest_reader *reader, struct error *error)
{
  const struct blkhash_opts *opts = blkhash_manifest_reader_opts (reader);
  uint32_t block_size = blkhash_opts_get_block_size (opts);

  if (kind_check (options, opts, error) == -1)
    return -1;
  parts->size = blkhash_manifest_reader_size (reader);
  parts->blocks = parts->size / block_size + (parts->size % block_size != 0);
  parts->opts = kind_copy (opts);
  return parts->opts ? 0 : error_errno (error, errno, "cannot merge");
}

static int
add_file (struct parts *parts, const struct options *options,
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
    r = take_image (parts, options, reader, error);
  else if (blkhash_manifest_reader_size (reader) != parts->size ||
           !kind_is_same (blkhash_manifest_reader_opts (reader), parts->opts))
    r = refuse_image (parts, reader, error);
  blkhash_manifest_reader_blocks (reader, &file->first, &count);
  file->end = file->first + count;
  parts->count++;
  blkhash_manifest_reader_free (reader);
  close (fd);
  return r;
}

static int
compare_files (const void *a, const void *b)
{
  const struct part_file *x = a, *y = b;

  return x->first < y->first ? -1 : x->first > y->first;
}

int
parts_open (struct parts *parts, const struct options *options, char **paths,
            size_t count, const char **operand, struct error *error)
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
    if (add_file (parts, options, paths[i], error) == -1)
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

/* ---- What is needed ---- */

uint64_t
parts_offset (const struct parts *parts, uint64_t block)
{
  uint32_t block_size = blkhash_opts_get_block_size (parts->opts);

  return block > parts->size / block_size ? parts->size : block * block_size;
}

/* Of the files from *NEXT on that begin at BLOCK or before: the one that goes
 * furthest, or BEST, if that does.
 */
static struct part_file *
furthest (const struct parts *parts, size_t *next, uint64_t block,
          struct part_file *best)
{
  for (; *next < parts->count && parts->files[*next].first <= block; ++*next)
    if (!best || parts->files[*next].end > best->end)
      best = &parts->files[*next];
  return best;
}

static void
say_missing (const struct parts *parts, uint64_t block, uint64_t end, FILE *out)
{
  uint64_t start = parts_offset (parts, block);

  if (out)
    fprintf (out, "the %" PRIu64 " bytes at %" PRIu64 " are in no part\n",
             parts_offset (parts, end) - start, start);
}

/* Files that begin before what there is already ends are only taken if nothing
 * else goes on from there, so as few as possible are needed.
 */
int
parts_choose (struct parts *parts, struct error *error)
{
  struct part_file *best = NULL;
  uint64_t block = 0, gap;
  char *missing = NULL;
  size_t next = 0, size;
  FILE *out = open_memstream (&missing, &size);

  while (block < parts->blocks) {
    best = furthest (parts, &next, block, best);
    if (best && best->end > block) {
      best->needed = true;
      best->from = block;
      block = best->end;
      continue;
    }
    while (next < parts->count &&
           parts->files[next].first == parts->files[next].end)
      next++;                   /* one without blocks */
    gap = next < parts->count ? parts->files[next].first : parts->blocks;
    say_missing (parts, block, gap, out);
    block = gap;
  }
  if (!out || fclose (out) == EOF)
    error_errno (error, errno, "cannot merge");
  else if (size > 0)
    error_set_lines (error, missing);
  free (missing);
  return error_is_set (error) ? -1 : 0;
}

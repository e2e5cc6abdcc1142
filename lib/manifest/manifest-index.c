/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reader of manifests validates the file, and every byte that it reads is
 * pinned (see pinned-file.h).  The file is divided into sections of
 * MARK_DISTANCE bytes, and the first record that begins in a section gets a
 * mark.  A look-up of a block begins at the last mark that is not beyond the
 * block, and skips records by the numbers in their heads, which were validated
 * and are pinned.  All records that a look-up reads begin in the same section:
 * the first one in a later section would have a mark, where the look-up would
 * have begun.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "blkhash-manifest.h"
#include "common/util.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-index.h"
#include "manifest/manifest-reader.h"
#include "manifest/pinned-file.h"

/* In bytes.  Dozens of records begin in a section if they have few blocks.  The
 * memory for the marks is at most 1/64 of the size of the file, but at least
 * 1 KiB.
 */
#define MARK_DISTANCE 2048

/* A record at which a look-up can begin. */
struct mark {
  uint64_t first;               /* its first block */
  uint64_t offset;              /* in the file */
};

struct manifest_index {
  struct pinned_file file;
  struct blkhash_manifest_reader *reader; /* NULL after the load */
  manifest_poll_function *poll; /* or NULL; called by the load */
  void *poll_opaque;
  struct blkhash_opts *opts;
  uint64_t size;                /* of the image, bytes */
  size_t leaf_size;
  unsigned char sum[BLKHASH_MAX_MD_SIZE];
  struct mark *marks;           /* ordered */
  size_t count, room;           /* of MARKS */
};

static void
pin (void *opaque, const void *bytes, size_t len)
{
  struct manifest_index *index = opaque;

  pinned_file_add (&index->file, bytes, len);
}

static int
poll_caller (void *opaque)
{
  const struct manifest_index *index = opaque;

  return index->poll ? index->poll (index->poll_opaque) : 0;
}

static int
open_reader (struct manifest_index *index, int fd, char *reason, size_t size)
{
  struct manifest_observer observer = { pin, poll_caller, index };
  struct stat st;
  int err = fstat (fd, &st) == -1 ? errno : S_ISREG (st.st_mode) ? 0 : ESPIPE;

  if (err == 0)
    err = pinned_file_init (&index->file, fd);
  if (err) {
    snprintf (reason, size, "%s", err == ESPIPE ? "not a regular file"
                                                : strerror (err));
    return err;
  }
  index->reader =
    manifest_reader_new_observed (fd, 0, &observer, reason, size);
  if (!index->reader)
    return errno;
  index->size = blkhash_manifest_reader_size (index->reader);
  index->opts =
    blkhash_opts_copy (blkhash_manifest_reader_opts (index->reader));
  if (!index->opts) {
    snprintf (reason, size, "%s", strerror (ENOMEM));
    return ENOMEM;
  }
  index->leaf_size = blkhash_opts_get_digest_size (index->opts);
  return 0;
}

struct manifest_index *
manifest_index_new (int fd, char *reason, size_t size)
{
  struct manifest_index *index = calloc (1, sizeof *index);
  int err;

  if (!index) {
    snprintf (reason, size, "%s", strerror (ENOMEM));
    return NULL;
  }
  err = open_reader (index, fd, reason, size);
  if (err == 0)
    return index;
  manifest_index_free (index);
  errno = err;
  return NULL;
}

void
manifest_index_free (struct manifest_index *index)
{
  if (!index)
    return;
  blkhash_manifest_reader_free (index->reader);
  blkhash_opts_free (index->opts);
  pinned_file_destroy (&index->file);
  free (index->marks);
  free (index);
}

const struct blkhash_opts *
manifest_index_opts (const struct manifest_index *index)
{
  return index->opts;
}

uint64_t
manifest_index_size (const struct manifest_index *index)
{
  return index->size;
}

const unsigned char *
manifest_index_sum (const struct manifest_index *index)
{
  return index->sum;
}

/* ---- Loading ---- */

void
manifest_index_set_poll (struct manifest_index *index,
                         manifest_poll_function *poll, void *opaque)
{
  index->poll = poll;
  index->poll_opaque = opaque;
}

void
manifest_index_skip_sum (struct manifest_index *index)
{
  manifest_reader_skip_sum (index->reader);
}

static uint64_t
record_size (const struct manifest_index *index, uint64_t count, bool zeros)
{
  return MANIFEST_HEAD_SIZE + MANIFEST_TAIL_SIZE +
    (zeros ? 0 : count * index->leaf_size);
}

/* Mark the record at OFFSET if it is the first one in its section. */
static int
add_mark (struct manifest_index *index, uint64_t first, uint64_t offset)
{
  if (index->count > 0 &&
      index->marks[index->count - 1].offset / MARK_DISTANCE ==
      offset / MARK_DISTANCE)
    return 0;
  if (index->count == index->room) {
    size_t room = MAX (2 * index->room, 64);
    struct mark *marks = realloc (index->marks, room * sizeof *marks);

    if (!marks)
      return ENOMEM;
    index->marks = marks;
    index->room = room;
  }
  index->marks[index->count++] = (struct mark) { first, offset };
  return 0;
}

static int
read_all (struct manifest_index *index, manifest_run_function *function,
          void *opaque)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (index->reader, &run)) == 0) {
    uint64_t size = record_size (index, run.count, !run.leaves);
    uint64_t end = manifest_reader_offset (index->reader);

    err = add_mark (index, run.first, end - size);
    if (err == 0 && function)
      err = function (opaque, &run);
    if (err)
      return err;
  }
  return err == ENOENT ? 0 : err;
}

int
manifest_index_load (struct manifest_index *index,
                     manifest_run_function *function, void *opaque,
                     char *reason, size_t size)
{
  int err;

  if (!blkhash_manifest_reader_is_complete (index->reader)) {
    snprintf (reason, size, "it has only a part of an image");
    return ENODATA;
  }
  err = read_all (index, function, opaque);
  if (err) {
    snprintf (reason, size, "%s", err == ENOMEM ? strerror (err) :
              blkhash_manifest_reader_error (index->reader));
    return err;
  }
  err = pinned_file_finish (&index->file);
  if (err) {
    snprintf (reason, size, "%s", strerror (err));
    return err;
  }
  blkhash_manifest_reader_sum (index->reader, index->sum, NULL);
  blkhash_manifest_reader_free (index->reader);
  index->reader = NULL;
  return 0;
}

int
manifest_index_digest (const struct manifest_index *index,
                       unsigned char md[MANIFEST_INDEX_DIGEST_SIZE])
{
  return pinned_file_digest (&index->file, md);
}

/* ---- Looking up ---- */

/* Read the head of the record at *OFFSET in the file.  Stores the run of its
 * blocks in *RUN, without their leaves, and adds the size of the record to
 * *OFFSET.
 */
static int
read_head (struct manifest_index *index, uint64_t *offset,
           struct blkhash_manifest_run *run)
{
  unsigned char head[MANIFEST_HEAD_SIZE];
  bool zeros;
  int err = pinned_file_read (&index->file, head, sizeof head, *offset);

  if (err)
    return err;
  run->first = manifest_get (head, 8);
  run->count = manifest_get (head + 8, 8);
  zeros = run->count & MANIFEST_ZERO_RUN;
  run->count &= ~MANIFEST_ZERO_RUN;
  run->leaves = zeros ? NULL : index->sum; /* any address that is not NULL */
  run->leaf_size = index->leaf_size;
  *offset += record_size (index, run->count, zeros);
  return 0;
}

/* Returns the last mark that is not beyond BLOCK. */
static const struct mark *
find_mark (const struct manifest_index *index, uint64_t block)
{
  size_t low = 0, high = index->count;

  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;

    if (index->marks[middle].first <= block)
      low = middle;
    else
      high = middle;
  }
  return &index->marks[low];
}

/* Find the record with BLOCK.  Stores its offset in the file in *OFFSET, and
 * the run of all its blocks in *RUN, without their leaves.
 */
static int
find_record (struct manifest_index *index, uint64_t block, uint64_t *offset,
             struct blkhash_manifest_run *run)
{
  uint64_t next = find_mark (index, block)->offset;
  int err;

  do {
    *offset = next;
    err = read_head (index, &next, run);
  } while (err == 0 && block - run->first >= run->count);
  return err;
}

int
manifest_index_each (struct manifest_index *index,
                     manifest_run_function *function, void *opaque)
{
  uint64_t offset = MANIFEST_HEADER_SIZE, end = index->file.size -
    record_size (index, 1, false); /* the end record, with the sum */
  int err = 0;

  while (err == 0 && offset < end) {
    struct blkhash_manifest_run run = { .count = 0 };

    err = read_head (index, &offset, &run);
    if (err == 0)
      err = function (opaque, &run);
  }
  return err;
}

int
manifest_index_get (struct manifest_index *index, uint64_t first, uint64_t max,
                    unsigned char *leaves, struct blkhash_manifest_run *run)
{
  uint64_t offset, skip;
  int err;

  *run = (struct blkhash_manifest_run) { .count = 0 };
  err = find_record (index, first, &offset, run);
  if (err)
    return err;
  skip = first - run->first;
  run->first = first;
  run->count = MIN (run->count - skip, max);
  if (!run->leaves || !leaves)
    return 0;
  run->leaves = leaves;
  return pinned_file_read (&index->file, leaves, run->count * run->leaf_size,
                           offset + MANIFEST_HEAD_SIZE +
                           skip * index->leaf_size);
}

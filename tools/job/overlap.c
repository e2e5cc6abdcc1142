/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do all parts of an image agree on the blocks that several of them have?
 *
 * Of each block one file says what becomes of the image, see parts.c.  What
 * other files say of it are extras, which are compared with that one.  Two
 * files are open at a time.  Both are only read forward as long as extras do
 * not overlap each other; so those that do are left for another round.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "blkhash.h"

#include "../lib/manifest/leaf-diff.h"
#include "job/overlap.h"
#include "job/part-reader.h"
#include "job/parts.h"
#include "util/error.h"

struct extra {
  const struct part_file *file;
  uint64_t first, end;          /* blocks */
  bool done;
};

struct overlap {
  const struct parts *parts;
  struct extra *extras;         /* in the order of the image */
  size_t count, left;
  struct part_reader needed, extra;
  struct leaf_diff diff;
  uint64_t differs;             /* the first such block */
  overlap_sum_function take_sum;
  void *opaque;
  const char **operand;
  struct error *error;
};

/* ---- Comparing ---- */

static int
note_difference (void *opaque, uint64_t first, uint64_t count)
{
  struct overlap *overlap = opaque;

  (void) count;
  overlap->differs = first;
  return ECANCELED;
}

/* What both readers are at, up to the block END. */
static int
compare_up_to (struct overlap *overlap, const struct part_file *needed,
               const struct extra *extra, uint64_t end)
{
  struct blkhash_manifest_run a, b;
  int r;

  for (;;) {
    uint64_t first = overlap->extra.run.first;

    *overlap->operand = needed->path;
    r = part_reader_peek (&overlap->needed, end, &a, overlap->error);
    if (r != 1)
      return r;
    *overlap->operand = extra->file->path;
    r = part_reader_peek (&overlap->extra, end, &b, overlap->error);
    if (r != 1)
      return r;
    if (leaf_diff_both (&overlap->diff, &a, &b) != 0)
      return error_set (overlap->error, "says something else than %s of the "
                        "block at %" PRIu64, needed->path,
                        parts_offset (overlap->parts, overlap->differs));
    part_reader_take (&overlap->needed, a.first - first);
    part_reader_take (&overlap->extra, a.first - first);
  }
}

/* Begin at the file *NEEDED, before which none is needed for EXTRA, and store
 * the last one that was.
 */
static int
compare_extra (struct overlap *overlap, const struct extra *extra,
               const struct part_file **needed)
{
  const struct part_file *file = *needed;
  uint64_t block = extra->first;

  for (; block < extra->end; file++) {
    uint64_t end = extra->end;

    if (!file->needed || file->end <= block)
      continue;
    *needed = file;
    if (end > file->end)
      end = file->end;
    *overlap->operand = extra->file->path;
    if (part_reader_seek (&overlap->extra, extra->file, block,
                          overlap->error) == -1)
      return -1;
    *overlap->operand = file->path;
    if (part_reader_seek (&overlap->needed, file, block,
                          overlap->error) == -1 ||
        compare_up_to (overlap, file, extra, end) == -1)
      return -1;
    block = end;
  }
  return 0;
}

/* One that is needed was read to its end before. */
static int
finish_extra (struct overlap *overlap, const struct extra *extra)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  if (extra->file->needed)
    return 0;
  *overlap->operand = extra->file->path;
  if (part_reader_seek (&overlap->extra, extra->file, extra->end,
                        overlap->error) == -1 ||
      part_reader_finish (&overlap->extra, md, &len, overlap->error) == -1)
    return -1;
  if (extra->file->first > 0 || extra->file->end < overlap->parts->blocks)
    return 0;
  return overlap->take_sum (overlap->opaque, extra->file->path, md, len,
                            overlap->error);
}

/* ---- All of them ---- */

static bool
collect_extras (struct overlap *overlap)
{
  const struct parts *parts = overlap->parts;
  size_t i;

  overlap->extras = calloc (parts->count, sizeof (struct extra));
  if (!overlap->extras)
    return false;
  for (i = 0; i < parts->count; i++) {
    const struct part_file *file = &parts->files[i];

    if (!file->needed || file->from > file->first)
      overlap->extras[overlap->count++] = (struct extra) {
        .file = file, .first = file->first,
        .end = file->needed ? file->from : file->end
      };
  }
  overlap->left = overlap->count;
  return true;
}

/* Those that do not overlap each other. */
static int
run_round (struct overlap *overlap)
{
  const struct part_file *needed = overlap->parts->files;
  uint64_t block = 0;
  size_t i;

  for (i = 0; i < overlap->count; i++) {
    struct extra *extra = &overlap->extras[i];

    if (extra->done || extra->first < block)
      continue;
    if (compare_extra (overlap, extra, &needed) == -1 ||
        finish_extra (overlap, extra) == -1)
      return -1;
    block = extra->end;
    extra->done = true;
    overlap->left--;
  }
  return 0;
}

int
overlap_check (const struct parts *parts, size_t leaf_size,
               overlap_sum_function take_sum, void *opaque,
               const char **operand, struct error *error)
{
  struct overlap overlap = {
    .parts = parts, .take_sum = take_sum, .opaque = opaque,
    .operand = operand, .error = error,
    .diff = {
      .leaf_size = leaf_size, .tail = LEAF_DIFF_NO_BLOCK,
      .differ = note_difference, .opaque = &overlap
    },
  };
  int r = 0;

  if (!collect_extras (&overlap))
    return error_errno (error, ENOMEM, "cannot merge");
  part_reader_init (&overlap.needed, parts, leaf_size);
  part_reader_init (&overlap.extra, parts, leaf_size);
  while (r == 0 && overlap.left > 0)
    r = run_round (&overlap);
  part_reader_destroy (&overlap.needed);
  part_reader_destroy (&overlap.extra);
  free (overlap.extras);
  return r;
}

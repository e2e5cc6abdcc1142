/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest of an image of which another manifest says most.
 *
 * There are two leaf tables.  One is filled from the image, and what is not
 * read counts as zeros in it, which cost nothing.  It tells of its leaves in
 * order, and where something is believed, that takes the place of the zeros.
 * All this goes to the other table, which tells the writer of the manifest, and
 * that computes the sum.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/numbers.h"
#include "../lib/manifest/leaf-runs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "job/incremental.h"
#include "job/journal.h"
#include "leaves/image-table.h"
#include "source/source.h"
#include "util/choice.h"

#define PIECE 65536             /* blocks that are told of at once, so that
                                 * progress is seen */

/* ---- What is believed ---- */

/* Store in *RUN what is believed from block FIRST on.  0, or an errno value. */
static int
next_believed (struct incremental *inc, uint64_t first,
               struct blkhash_manifest_run *run)
{
  struct blkhash_manifest_reader *r = inc->belief->reader;
  struct blkhash_manifest_run *left = &inc->run;
  uint64_t passed;

  while (left->first + left->count <= first)
    if (blkhash_manifest_reader_next (r, left) != 0) {
      error_set (&inc->error, "%s: %s", inc->belief->name,
                 blkhash_manifest_reader_error (r));
      return ECANCELED;
    }
  passed = first - left->first;
  *run = *left;
  run->first += passed;
  run->count -= passed;
  if (run->leaves)
    run->leaves += passed * run->leaf_size;
  return 0;
}

static uint64_t
bytes_of (const struct incremental *inc,
          const struct blkhash_manifest_run *run)
{
  return leaf_run_bytes (run, inc->source->size, inc->block_size);
}

static int
tell_all (struct incremental *inc, const struct blkhash_manifest_run *run)
{
  int err = blkhash_leaves_put_run (inc->all, run);

  if (err || !inc->journal)
    return err;
  return journal_tell (inc->journal, run, &inc->error) == -1 ? ECANCELED : 0;
}

static int
tell_believed (struct incremental *inc, uint64_t first, uint64_t count)
{
  struct blkhash_manifest_run run;
  int err = 0;

  while (count > 0 && err == 0) {
    err = next_believed (inc, first, &run);
    if (err)
      return err;
    run.count = MIN (run.count, MIN (count, PIECE));
    if (!run.leaves)
      inc->believed_zeros += bytes_of (inc, &run);
    err = tell_all (inc, &run);
    progress_add (&inc->progress, run.count * inc->leaf_size);
    first += run.count;
    count -= run.count;
  }
  return err;
}

/* ---- The audit ---- */

static int
differs (struct incremental *inc, uint64_t block)
{
  const struct blkhash_manifest_run run = { .first = block, .count = 1 };

  inc->differs = true;
  error_set (&inc->error, "block %" PRIu64 " (%" PRIu64 " bytes at %" PRIu64
             ") is not what %s says", block, bytes_of (inc, &run),
             block * inc->block_size, inc->belief->name);
  return ECANCELED;
}

/* The blocks of RUN, which were read: are they what is believed? */
static int
audit (struct incremental *inc, const struct blkhash_manifest_run *run)
{
  struct blkhash_manifest_run believed;
  uint64_t i;

  for (i = 0; i < run->count; i++) {
    int err = next_believed (inc, run->first + i, &believed);

    if (err)
      return err;
    if (!believed.leaves != !run->leaves ||
        (run->leaves && memcmp (believed.leaves,
                                run->leaves + i * inc->leaf_size,
                                inc->leaf_size) != 0))
      return differs (inc, run->first + i);
  }
  return 0;
}

/* ---- In order ---- */

/* What the blocks of RUN are; it is cut to those of the same kind. */
static enum choice_kind
kind_of (const struct incremental *inc, struct blkhash_manifest_run *run)
{
  uint64_t len, count;
  enum choice_kind kind = choice_at (&inc->choice,
                                     run->first * inc->block_size, &len);

  count = len / inc->block_size + (len % inc->block_size != 0);
  run->count = MIN (run->count, count);
  return kind;
}

static int
tell (struct incremental *inc, struct blkhash_manifest_run run)
{
  int err = 0;

  while (run.count > 0 && err == 0) {
    struct blkhash_manifest_run part = run;
    enum choice_kind kind = kind_of (inc, &part);

    if (kind == CHOICE_BELIEVED)
      err = tell_believed (inc, part.first, part.count);
    else {
      if (kind == CHOICE_AUDITED)
        err = audit (inc, &part);
      if (err == 0)
        err = tell_all (inc, &part);
    }
    run.first += part.count;
    run.count -= part.count;
    if (run.leaves)
      run.leaves += part.count * run.leaf_size;
  }
  return err;
}

static int
tell_data (void *opaque, uint64_t index, size_t count,
           const unsigned char *leaves, size_t leaf_size)
{
  struct incremental *inc = opaque;
  const struct blkhash_manifest_run run = {
    .first = index, .count = count, .leaves = leaves, .leaf_size = leaf_size
  };

  return tell (inc, run);
}

static int
tell_zeros (void *opaque, uint64_t index, uint64_t count)
{
  const struct blkhash_manifest_run run = { .first = index, .count = count };

  return tell (opaque, run);
}

static bool
is_wanted (void *opaque, uint64_t offset, uint64_t *len)
{
  return choice_at (opaque, offset, len) != CHOICE_BELIEVED;
}

/* ---- The whole ---- */

/* A manifest is right when its end is. */
static int
read_to_end (struct incremental *inc, struct error *error)
{
  struct blkhash_manifest_reader *r = inc->belief->reader;
  int err;

  if (!r || !inc->belief->finished)
    return 0;
  do
    err = blkhash_manifest_reader_next (r, &inc->run);
  while (err == 0);
  if (err == ENOENT)
    return 0;
  return error_set (error, "%s: %s", inc->belief->name,
                    blkhash_manifest_reader_error (r));
}

static int
fold (struct incremental *inc, struct sum *sum, struct error *error)
{
  uint64_t data, zero;
  int err = blkhash_leaves_fold (inc->all, NULL, NULL);

  if (err)
    return error_errno (error, err, "cannot hash");
  blkhash_leaves_count (inc->all, &data, &zero);
  sum->size = data + zero;
  sum->data = data;
  sum->hole += inc->believed_zeros;
  sum->zero = zero - sum->hole;
  sum->incremental = true;
  return 0;
}

/* If whoever is told of leaves ended it, that is why hashing failed. */
static int
explain (const struct incremental *inc, struct error *error)
{
  if (error_is_set (&inc->error))
    *error = inc->error;
  else
    manifest_file_explain (&inc->manifest, error);
  return inc->differs ? 1 : -1;
}

/* Bytes that are hashed: of what is read, and leaves of what is believed. */
static uint64_t
work (const struct incremental *inc)
{
  uint64_t read = choice_bytes (&inc->choice);
  uint64_t rest = inc->source->size - read;
  uint64_t believed = rest / inc->block_size + (rest % inc->block_size != 0);

  return read + believed * inc->leaf_size;
}

static int
fill (struct incremental *inc, struct sum *sum, struct error *error)
{
  const struct image_request request = {
    .opts = inc->options->hash,
    .progress = &inc->progress,
    .wanted = is_wanted,
    .opaque = &inc->choice,
  };
  int r;

  progress_init (&inc->progress, inc->options, work (inc));
  r = image_table_fill (inc->source, inc->read, &request, sum, error);
  progress_end (&inc->progress, r == 0);
  return r;
}

int
incremental_fill (struct incremental *inc, struct journal *journal,
                  struct sum *sum, struct error *error)
{
  *sum = (struct sum) { .hash = NULL };
  inc->journal = journal;
  if (fill (inc, sum, error) == -1)
    return explain (inc, error);
  if (read_to_end (inc, error) == -1)
    return -1;
  if (fold (inc, sum, error) == -1)
    return explain (inc, error);
  memcpy (sum->format, inc->source->format, sizeof sum->format);
  return manifest_file_finish (&inc->manifest, sum, error);
}

int
incremental_publish (struct incremental *inc, struct error *error)
{
  return manifest_file_publish (&inc->manifest, error);
}

/* ---- Its life ---- */

static int
choose (struct incremental *inc, struct error *error)
{
  uint64_t seed;
  int err = 0;

  if (getentropy (&seed, sizeof seed) == -1)
    err = errno;
  if (err == 0)
    err = choice_init (&inc->choice, inc->source->size, inc->block_size,
                       inc->belief->unknown, inc->options->audit, seed);
  return err ? error_errno (error, err, "cannot hash") : 0;
}

static int
make_tables (struct incremental *inc, struct error *error)
{
  const struct blkhash_opts *hash = inc->options->hash;
  const struct blkhash_leaf_sink sink = {
    .data = tell_data, .zero = tell_zeros, .opaque = inc
  };
  uint64_t size = inc->source->size;
  int err;

  inc->leaf_size = blkhash_opts_get_digest_size (hash);
  inc->all = blkhash_leaves_new (hash, size, BLKHASH_LEAVES_ONCE |
                                             BLKHASH_LEAVES_NO_SUM);
  inc->read = blkhash_leaves_new (hash, size, BLKHASH_LEAVES_ONCE |
                                              BLKHASH_LEAVES_NO_SUM);
  err = inc->all && inc->read ? blkhash_leaves_set_sink (inc->read, &sink)
                              : errno;
  return err ? error_errno (error, err, "cannot hash") : 0;
}

static void
free_tables (struct incremental *inc)
{
  blkhash_leaves_free (inc->read);
  blkhash_leaves_free (inc->all);
  choice_destroy (&inc->choice);
}

int
incremental_open (struct incremental *inc, const struct options *options,
                  struct source *source, const struct belief *belief,
                  struct error *error)
{
  *inc = (struct incremental) {
    .options = options,
    .source = source,
    .belief = belief,
    .block_size = blkhash_opts_get_block_size (options->hash),
  };
  if (choose (inc, error) == 0 && make_tables (inc, error) == 0 &&
      manifest_file_open (&inc->manifest, options->manifest, options->hash,
                          source->size, source, inc->all, error) == 0)
    return 0;
  free_tables (inc);
  return -1;
}

void
incremental_close (struct incremental *inc)
{
  manifest_file_close (&inc->manifest);
  free_tables (inc);
}

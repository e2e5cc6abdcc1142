/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job of blkhash repair: replace the bad blocks of a disk.
 *
 * Everything that can be checked is checked first.  Then the first pass reads
 * the disk and lists its bad blocks, and only then the second pass writes to
 * the disk, one bad block after the other.  Only good content is written, over
 * a block that was just checked to have the same bad content as in the first
 * pass.  So a repair can be interrupted at any time.
 *
 * The state of the repair is only in memory.  After an interruption, reading
 * the disk again finds the blocks that are still bad, without trusting any
 * saved state.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/util.h"
#include "blkhash-manifest.h"
#include "io/file-read.h"
#include "job/job.h"
#include "read/scan.h"
#include "repair/repair-private.h"
#include "repair/repair.h"
#include "repair/target.h"
#include "source/source.h"
#include "util/error.h"
#include "util/progress.h"

/* ---- A source ---- */

#define MAX_FAILURES 16         /* consecutive blocks */

/* A source of good blocks.  Its content is not trusted.
 *
 * Extents are not queried, because only few blocks are read, and nothing that
 * the source reports is trusted.  After an error the source is closed, and
 * opened again for the next block.
 *
 * A block that cannot be read can take seconds, if a disk retries the read, or
 * a server does not reply.  Therefore a source that fails for many consecutive
 * blocks is not used any more, even if it could provide other blocks.
 */
struct repair_source {
  const char *operand;
  struct source_options options;
  const struct target *target;
  struct source *source;        /* NULL if it is not open */
  bool unusable;                /* it could not be opened again, or FAILURES is
                                 * too large */
  unsigned failures;            /* consecutive blocks that could not be read */
  bool warned;                  /* a read error was reported */
};

static void
close_source (struct repair_source *source)
{
  if (source->source)
    source_close (source->source);
  source->source = NULL;
}

static int
check (const struct repair_source *source, struct error *error)
{
  if (source->source->size == SOURCE_SIZE_UNKNOWN)
    return error_set (error, "can only be read sequentially, like a pipe, so "
                      "blocks cannot be read from it");
  if (target_is_in (source->target, source->source))
    return error_set (error, "is the disk that is to be repaired");
  return 0;
}

/* Refuse some operands before they are opened as a source: opening a FIFO
 * would wait for a writer, and opening the target would fail because of our own
 * locks.
 */
static int
check_operand (const struct repair_source *source, struct error *error)
{
  const char *operand = source->operand;
  struct stat st;

  if (strcmp (operand, "-") == 0)
    return error_set (error, "standard input cannot be opened again, so it is "
                      "no source");
  if (!source_is_uri (operand) && stat (operand, &st) == 0 &&
      !S_ISREG (st.st_mode) && !S_ISBLK (st.st_mode))
    return error_set (error, "is not a regular file or block device, so blocks "
                      "cannot be read from it");
  if (target_is_operand (source->target, operand))
    return error_set (error, "is the disk that is to be repaired");
  return 0;
}

static int
open_source (struct repair_source *source, struct error *error)
{
  if (check_operand (source, error) == -1)
    return -1;
  if (source_open (&source->options, source->operand, &source->source,
                   error) == -1)
    return -1;
  if (check (source, error) == 0)
    return 0;
  close_source (source);
  return -1;
}

/* Initialize SOURCE to read blocks from OPERAND, to repair TARGET.  Check that
 * OPERAND can be opened and is not TARGET, and close it again.  Returns 0, or
 * -1 with the reason in ERROR.
 */
static int
init_source (struct repair_source *source, const char *operand,
             const struct hash_request *request, const struct target *target,
             struct error *error)
{
  *source = (struct repair_source) {
    .operand = operand, .options = request->source, .target = target,
  };
  source->options.size = SOURCE_WHOLE;
  source->options.extents = false;
  source->options.threads = 1;
  if (open_source (source, error) == -1)
    return -1;
  close_source (source);
  return 0;
}

/* Returns true if the block was read, or false with the reason in ERROR. */
static bool
read_block (struct repair_source *source, size_t block_size, void *buf,
            size_t len, uint64_t offset, struct error *error)
{
  struct scan scan;
  bool failed;

  scan_init_copy (&scan, block_size, buf, len, offset);
  failed = source_scan (source->source, &scan) == -1;
  error_copy (error, &scan.error);
  scan_destroy (&scan);
  if (failed)
    close_source (source);
  return !failed;
}

/* Count a block that could not be read.  Warn of the first one, because there
 * can be many; and if there are too many in a row, do not use the source any
 * more.
 */
static void
count_failure (struct repair_source *source, const struct error *reason)
{
  struct error error = { "" };

  if (!source->warned)
    source->options.warn (source->operand, reason);
  source->warned = true;
  if (++source->failures < MAX_FAILURES)
    return;
  error_set (&error, "could not be read in %d blocks in a row, and is not used "
             "any more", MAX_FAILURES);
  source->options.warn (source->operand, &error);
  source->unusable = true;
}

/* Read the LEN bytes at OFFSET, a block, into BUF.  Returns false if SOURCE
 * does not have them, or cannot be read, which only causes a warning.
 */
static bool
read_source (struct repair_source *source, size_t block_size, void *buf,
             size_t len, uint64_t offset)
{
  struct error error = { "" };

  if (source->unusable)
    return false;
  if (!source->source && open_source (source, &error) == -1) {
    source->options.warn (source->operand, &error);
    source->unusable = true;
    return false;
  }
  if (source->source->size < len || source->source->size - len < offset)
    return false;
  if (!read_block (source, block_size, buf, len, offset, &error)) {
    count_failure (source, &error);
    return false;
  }
  source->failures = 0;
  return true;
}

/* ---- The repair ---- */

struct repair {
  const struct repair_request *request;
  struct repair_result *result;
  struct repair_manifest manifest;
  struct target target;
  struct repair_source *sources;
  struct repair_list list;
  void *content;                /* good content of a block, and what the disk */
  void *found;                  /* has; both aligned for direct I/O */
  struct repair_range range;    /* not reported yet, or of length 0 */
};

/* A bad block. */
struct block {
  uint64_t offset;              /* bytes */
  size_t len;                   /* the last block of the image can be shorter */
  struct block_expected bad;    /* its content in the first pass */
  struct block_expected good;
  unsigned char leaf[BLKHASH_MAX_MD_SIZE]; /* of GOOD */
};

/* ---- Results ---- */

/* Report the pending range, if there is one.  Returns 0, or an errno value. */
static int
report_range (struct repair *repair)
{
  const struct repair_request *request = repair->request;
  int err = 0;

  if (repair->range.length > 0 && request->found)
    err = request->found (request->opaque, &repair->range);
  repair->range.length = 0;
  return err;
}

static int
add_block (struct repair *repair, const struct block *block,
           enum repair_state state, struct error *error)
{
  struct repair_range *range = &repair->range;
  bool extends = range->length > 0 && range->state == state &&
    range->start + range->length == block->offset;
  int err = extends ? 0 : report_range (repair);

  if (!extends)
    *range = (struct repair_range) { .start = block->offset, .state = state };
  range->length += block->len;
  repair->result->blocks[state]++;
  return err ? error_errno (error, err, "cannot write the result") : 0;
}

/* ---- One block ---- */

static int
take_block (const struct repair *repair, size_t i, struct block *block,
            struct error *error)
{
  const struct repair_manifest *manifest = &repair->manifest;
  uint64_t n = repair_list_get (&repair->list, i, &block->bad);
  struct blkhash_manifest_run run;

  block->offset = n * manifest->block_size;
  block->len = MIN (manifest->block_size, manifest->size - block->offset);
  if (repair_manifest_get (manifest, n, 1, block->leaf, &run, error) == -1)
    return -1;
  block->good = (struct block_expected) {
    .zero = !run.leaves, .leaf = block->leaf
  };
  return 0;
}

/* Does BUF have the EXPECTED content of BLOCK? */
static enum answer
check_content (const struct repair *repair, const struct block *block,
               const void *buf, const struct block_expected *expected,
               struct error *error)
{
  bool same;
  int err = block_check (repair->manifest.opts, buf, block->len, expected,
                         &same);

  if (err)
    return error_errno (error, err, "cannot hash");
  return same ? ANSWER_YES : ANSWER_NO;
}

/* Find the good content of BLOCK.  What must be zero needs no source. */
static enum answer
find_content (struct repair *repair, const struct block *block,
              struct error *error)
{
  enum answer good = ANSWER_NO;

  if (block->good.zero) {
    memset (repair->content, 0, block->len);
    return ANSWER_YES;
  }
  for (size_t i = 0; i < repair->request->nr_sources && good == ANSWER_NO; i++)
    if (read_source (&repair->sources[i], repair->manifest.block_size,
                     repair->content, block->len, block->offset))
      good = check_content (repair, block, repair->content, &block->good,
                            error);
  return good;
}

/* Check that BLOCK still has the content that it had in the first pass.
 * Another program can have written to the target while other blocks and the
 * sources were read.
 */
static int
check_again (const struct repair *repair, const struct block *block,
             struct error *error)
{
  const struct target *target = &repair->target;
  enum answer same;

  if (target_check_same (target, error) == -1 ||
      target_read (target, repair->found, block->len, block->offset,
                   error) == -1)
    return -1;
  same = check_content (repair, block, repair->found, &block->bad, error);
  if (same == ANSWER_NO)
    error_set (error, "changed meanwhile at offset %" PRIu64 ": another "
               "program writes it", block->offset);
  return same == ANSWER_YES ? 0 : -1;
}

/* Write the good content to BLOCK, flush it, and read it back, which must not
 * come from the page cache.  Is it there?
 *
 * If the write fails, a part of the block can have been written.  So the block
 * counts as written, unless the bad content is still there.
 */
static enum answer
write_block (struct repair *repair, const struct block *block,
             struct error *error)
{
  const struct target *target = &repair->target;
  struct error ignored = { "" };
  enum answer good;
  int r;

  if (check_again (repair, block, error) == -1)
    return ANSWER_FAILED;
  r = target_write (target, repair->content, block->len, block->offset,
                    error);
  repair->result->unverified =
    r == 0 || check_again (repair, block, &ignored) == -1;
  if (r == -1 || target_sync (target, error) == -1 ||
      target_read (target, repair->found, block->len, block->offset,
                   error) == -1 ||
      target_check_uncached (target, block->len, block->offset, error) == -1)
    return ANSWER_FAILED;
  good = check_content (repair, block, repair->found, &block->good, error);
  repair->result->unverified = good == ANSWER_FAILED;
  return good;
}

/* Repair bad block I of the list. */
static int
repair_block (struct repair *repair, size_t i, struct error *error)
{
  uint32_t align = repair->target.align;
  enum repair_state state;
  struct block block;
  enum answer good;

  if (take_block (repair, i, &block, error) == -1)
    return -1;
  if (block.offset % align || block.len % align)
    return add_block (repair, &block, REPAIR_UNALIGNED, error);
  good = find_content (repair, &block, error);
  if (good != ANSWER_YES)
    state = REPAIR_IMPOSSIBLE;
  else if (repair->request->dry_run)
    state = REPAIR_POSSIBLE;
  else {
    good = write_block (repair, &block, error);
    state = good == ANSWER_YES ? REPAIR_DONE : REPAIR_FAILED;
  }
  return good == ANSWER_FAILED ? -1 : add_block (repair, &block, state, error);
}

/* ---- The second pass ---- */

static int
repair_all (struct repair *repair, struct error *error)
{
  struct progress progress = repair->request->hash.progress;
  const size_t count = repair->list.count;
  int r = 0, err;

  progress.aside = true;
  progress_begin (&progress, count * (uint64_t) repair->manifest.block_size);
  for (size_t i = 0; i < count && r == 0; i++) {
    r = repair_block (repair, i, error);
    progress_add (&progress, repair->manifest.block_size);
  }
  err = report_range (repair);  /* also after an error */
  if (r == 0 && err)
    r = error_errno (error, err, "cannot write the result");
  progress_end (&progress, r == 0);
  return r;
}

static int
repair_blocks (struct repair *repair, struct error *error)
{
  size_t size = repair->manifest.block_size;
  int r;

  if (repair->list.count == 0)
    return 0;
  repair->content = read_alloc (size);
  repair->found = read_alloc (size);
  if (repair->content && repair->found)
    r = repair_all (repair, error);
  else
    r = error_errno (error, ENOMEM, "cannot repair");
  free (repair->content);
  free (repair->found);
  return r;
}

/* ---- The job ---- */

/* Check the sources before the disk is read, because reading it can take
 * hours.
 */
static int
check_sources (struct repair *repair, const char **operand,
               struct error *error)
{
  const struct repair_request *request = repair->request;
  size_t i;

  for (i = 0; i < request->nr_sources; i++) {
    if (init_source (&repair->sources[i], request->sources[i], &request->hash,
                     &repair->target, error) == -1) {
      *operand = request->sources[i];
      return -1;
    }
  }
  return 0;
}

/* Repair the target, which is open.  At the end, check once more that its path
 * still names the open file: otherwise the repaired file is not the one that
 * the path names.
 */
static int
repair_target (struct repair *repair, const char **operand,
               struct error *error)
{
  size_t i;
  int r = check_sources (repair, operand, error);

  if (r == 0)
    r = repair_list_make (&repair->list, &repair->manifest, &repair->target,
                          repair->request, error);
  if (r == 0)
    r = target_check_unmodified (&repair->target, error);
  if (r == 0)
    r = repair_blocks (repair, error);
  for (i = 0; i < repair->request->nr_sources; i++)
    close_source (&repair->sources[i]);
  repair_list_free (&repair->list);
  return r == 0 ? target_check_same (&repair->target, error) : -1;
}

static int
repair_disk (struct repair *repair, const char **operand, struct error *error)
{
  const struct repair_request *request = repair->request;
  struct target *target = &repair->target;
  int r;

  target->path = request->hash.operand;
  target->options = request->hash.source;
  target->options.cache = target->options.force_share = false;
  if (target_open (target, repair->manifest.size, request->dry_run,
                   error) == -1)
    return -1;
  r = repair_target (repair, operand, error);
  target_close (target);
  return r;
}

static void
append (struct error *error, uint64_t count, const char *what)
{
  struct error reason = *error;

  if (count == 0)
    return;
  *error = (struct error) { "" };
  error_set (error, "%s; %" PRIu64 " block%s %s", reason.text, count,
             count == 1 ? " was" : "s were", what);
}

/* Add to ERROR the number of blocks that were written, because they stay
 * written.
 */
static void
add_repaired (const struct repair_result *result, struct error *error)
{
  append (error, result->blocks[REPAIR_DONE], "repaired before");
  append (error, result->unverified, "written, and not verified");
}

int
job_repair (const struct repair_request *request, struct repair_result *result,
            const char **operand, struct error *error)
{
  struct repair repair = { .request = request, .result = result };
  int r;

  *result = (struct repair_result) { .unverified = false };
  *operand = request->manifest;
  if (repair_manifest_open (&repair.manifest, request, error) == -1)
    return -1;
  *operand = request->hash.operand;
  repair.sources = calloc (request->nr_sources, sizeof *repair.sources);
  if (repair.sources)
    r = repair_disk (&repair, operand, error);
  else
    r = error_errno (error, errno, "cannot repair");
  if (r == -1)
    add_repaired (result, error);
  free (repair.sources);
  repair_manifest_close (&repair.manifest);
  return r;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job of --repair-from: replace the bad blocks of a disk.
 *
 * Everything that can be checked is checked first.  Then the first pass reads
 * the disk and lists its bad blocks, and only then the second pass writes to
 * the disk.  Bad blocks are repaired in batches.
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

#include "job/manifest.h"
#include "repair/repair-batch.h"
#include "repair/repair-list.h"
#include "repair/repair-manifest.h"
#include "repair/repair-source.h"
#include "repair/repair.h"
#include "repair/target.h"
#include "util/error.h"
#include "util/progress.h"
#include "util/request.h"
#include "util/result.h"

struct repair {
  const struct repair_request *request;
  struct repair_result *result;
  struct repair_manifest manifest;
  struct target target;
  struct repair_source *sources;
  struct repair_list list;
  struct repair_batch batch;
  struct repair_range range;    /* not reported yet, or of length 0 */
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

static enum repair_state
find_state (const struct repair *repair, size_t i)
{
  const struct repair_batch *batch = &repair->batch;
  const struct repair_block *block = &batch->blocks[i];

  return block->unaligned ? REPAIR_UNALIGNED
    : !batch->good[i] ? REPAIR_IMPOSSIBLE
    : repair->request->dry_run ? REPAIR_POSSIBLE
    : block->verified ? REPAIR_DONE : REPAIR_FAILED;
}

static int
add_block (struct repair *repair, const struct repair_block *block,
           enum repair_state state)
{
  struct repair_range *range = &repair->range;
  bool extends = range->length > 0 && range->state == state &&
    range->start + range->length == block->offset;
  int err = extends ? 0 : report_range (repair);

  if (!extends)
    *range = (struct repair_range) { .start = block->offset, .state = state };
  range->length += block->len;
  repair->result->blocks[state]++;
  return err;
}

static int
add_batch (struct repair *repair, struct error *error)
{
  const struct repair_batch *batch = &repair->batch;
  size_t i;
  int err = 0;

  for (i = 0; i < batch->count && err == 0; i++)
    err = add_block (repair, &batch->blocks[i], find_state (repair, i));
  return err ? error_errno (error, err, "cannot write the result") : 0;
}

/* Add the known results of a batch for which repair_batch_write failed.  Errors
 * of reporting these results are ignored, because that failure is reported.
 */
static void
add_failed_batch (struct repair *repair)
{
  const struct repair_batch *batch = &repair->batch;
  size_t i;
  int err = 0;

  for (i = 0; i < batch->count; i++) {
    const struct repair_block *block = &batch->blocks[i];

    if (!block->verified && !block->unaligned && batch->good[i])
      repair->result->unverified += block->written;
    else if (err == 0)
      err = add_block (repair, block, find_state (repair, i));
  }
}

/* ---- The second pass ---- */

static int
repair_batch (struct repair *repair, struct error *error)
{
  struct repair_batch *batch = &repair->batch;
  size_t i;

  for (i = 0; i < repair->request->nr_sources; i++)
    if (repair_source_read (&repair->sources[i], batch, error) == -1)
      return -1;
  if (!repair->request->dry_run && repair_batch_write (batch, error) == -1) {
    add_failed_batch (repair);
    return -1;
  }
  return add_batch (repair, error);
}

static int
repair_all (struct repair *repair, struct error *error)
{
  struct progress progress = repair->request->hash.progress;
  int r, err;

  progress.aside = true;
  progress_begin (&progress, repair->list.count *
                             (uint64_t) repair->manifest.block_size);
  while ((r = repair_batch_next (&repair->batch, error)) == 1) {
    if (repair_batch (repair, error) == -1)
      break;
    progress_add (&progress, repair_batch_size (&repair->batch));
  }
  err = report_range (repair);  /* also after an error */
  if (r == 0 && err)
    r = error_errno (error, err, "cannot write the result");
  progress_end (&progress, r == 0);
  return r == 0 ? 0 : -1;
}

static int
repair_blocks (struct repair *repair, struct error *error)
{
  int r;

  if (repair->list.count == 0)
    return 0;
  if (repair_batch_init (&repair->batch, &repair->manifest, &repair->target,
                         &repair->list, error) == -1)
    return -1;
  r = repair_all (repair, error);
  repair_batch_destroy (&repair->batch);
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
    if (repair_source_init (&repair->sources[i], request->sources[i],
                            &request->hash, &repair->target,
                            repair->manifest.block_size, error) == -1) {
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
    r = direct_file_check_unmodified (&repair->target.file, error);
  if (r == 0)
    r = repair_blocks (repair, error);
  for (i = 0; i < repair->request->nr_sources; i++)
    repair_source_close (&repair->sources[i]);
  repair_list_free (&repair->list);
  return r == 0 ? direct_file_check_same (&repair->target.file, error) : -1;
}

static int
repair_disk (struct repair *repair, const char **operand, struct error *error)
{
  const struct repair_request *request = repair->request;
  struct target *target = &repair->target;
  int r;

  target->operand = request->hash.operand;
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

  *result = (struct repair_result) { .block_size = 0 };
  *operand = NULL;
  if (!job_manifest_path (request->expected))
    return error_set (error, "--repair-from needs --expect manifest:FILE: a "
                      "checksum does not say which blocks are bad");
  *operand = request->expected;
  if (repair_manifest_open (&repair.manifest, request, error) == -1)
    return -1;
  *operand = request->hash.operand;
  result->block_size = repair.manifest.block_size;
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

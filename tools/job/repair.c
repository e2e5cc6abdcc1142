/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: replace the bad blocks of a disk, --repair-from.
 *
 * First everything is checked that can be, and the disk is read and its bad
 * blocks are listed.  Only then is it opened for writing.  Bad blocks are
 * repaired in batches.
 *
 * The state is only in memory: what is still bad after an interruption is
 * found by reading the disk again, and nothing has to be trusted for that.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "job/manifest.h"
#include "job/repair.h"
#include "job/repair-batch.h"
#include "job/repair-list.h"
#include "job/repair-manifest.h"
#include "job/repair-source.h"
#include "source/open.h"
#include "source/source.h"
#include "source/target.h"
#include "util/error.h"
#include "util/progress.h"
#include "util/ranges.h"
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
  struct repair_range range;    /* not reported yet; or its length is 0 */
};

/* ---- Results ---- */

/* 0, or an errno value. */
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
state_of (const struct repair *repair, size_t i)
{
  if (!repair->batch.good[i])
    return REPAIR_IMPOSSIBLE;
  return repair->request->dry_run ? REPAIR_POSSIBLE : REPAIR_DONE;
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

/* A block that was good by now, so that it was not written, is none of those
 * that were repaired.
 */
static int
add_batch (struct repair *repair, struct error *error)
{
  const struct repair_batch *batch = &repair->batch;
  size_t i;
  int err = 0;

  for (i = 0; i < batch->count && err == 0; i++) {
    enum repair_state state = state_of (repair, i);

    if (state != REPAIR_DONE || batch->blocks[i].written)
      err = add_block (repair, &batch->blocks[i], state);
  }
  return err ? error_errno (error, err, "cannot write the result") : 0;
}

/* ---- The second pass ---- */

/* What must be zero is known without a source. */
static void
fill_zeros (struct repair_batch *batch)
{
  size_t i;

  for (i = 0; i < batch->count; i++)
    if (batch->expected[i].zero) {
      memset (repair_batch_bytes (batch, i), 0, batch->blocks[i].len);
      batch->good[i] = true;
    }
}

static bool
is_complete (const struct repair_batch *batch)
{
  return !memchr (batch->good, false, batch->count * sizeof *batch->good);
}

static int
repair_batch (struct repair *repair, struct error *error)
{
  struct repair_batch *batch = &repair->batch;
  size_t i;

  if (repair_batch_read (batch, &repair->target, error) == -1)
    return -1;
  fill_zeros (batch);
  for (i = 0; i < repair->request->nr_sources && !is_complete (batch); i++)
    if (repair_source_read (&repair->sources[i], batch, error) == -1)
      return -1;
  if (!repair->request->dry_run &&
      repair_batch_write (batch, &repair->target, error) == -1)
    return -1;
  return add_batch (repair, error);
}

static int
repair_all (struct repair *repair, struct error *error)
{
  const struct ranges *ranges = &repair->list.ranges;
  const struct progress *progress =
    progress_begin_aside (&repair->request->hash.progress,
                          ranges_bytes (ranges));
  int r, err;

  while ((r = repair_batch_next (&repair->batch, error)) == 1) {
    uint64_t bytes = repair_batch_size (&repair->batch);

    if (repair_batch (repair, error) == -1)
      break;
    progress_add (progress, bytes);
  }
  progress_end (progress, r == 0);
  err = r == 0 ? report_range (repair) : 0;
  if (err)
    return error_errno (error, err, "cannot write the result");
  return r == 0 ? 0 : -1;
}

/* Open the target and repair it. */
static int
write_target (struct repair *repair, struct error *error)
{
  int r = -1;

  if (target_open (&repair->target, repair->request->dry_run, error) == -1)
    return -1;
  if (repair_batch_init (&repair->batch, &repair->manifest,
                         &repair->list.ranges, error) == 0) {
    r = repair_all (repair, error);
    repair_batch_destroy (&repair->batch);
  }
  target_close (&repair->target);
  return r;
}

/* ---- The first pass ---- */

/* Check everything before the disk is read, which can take hours. */
static int
check_all (struct repair *repair, const struct source *disk,
           const char **operand, struct error *error)
{
  const struct repair_request *request = repair->request;
  size_t i;

  if (target_set_source (&repair->target, disk, error) == -1)
    return -1;
  for (i = 0; i < request->nr_sources; i++) {
    if (repair_source_init (&repair->sources[i], request->sources[i],
                            &request->hash, &repair->target, error) == -1) {
      *operand = request->sources[i];
      return -1;
    }
  }
  return 0;
}

static int
list_blocks (struct repair *repair, const char **operand, struct error *error)
{
  const struct repair_request *request = repair->request;
  const struct repair_manifest *manifest = &repair->manifest;
  struct source_options options = request->hash.source;
  struct source *disk;
  int r;

  options.force_share = false;
  if (target_init (&repair->target, request->hash.operand, manifest->size,
                   manifest->block_size, error) == -1 ||
      source_open (&options, request->hash.operand, &disk, error) == -1)
    return -1;
  r = check_all (repair, disk, operand, error);
  if (r == 0)
    r = repair_list_make (&repair->list, &repair->manifest, disk, request,
                          error);
  source_close (disk);
  return r;
}

/* ---- The job ---- */

static int
repair_disk (struct repair *repair, const char **operand, struct error *error)
{
  int r = list_blocks (repair, operand, error);
  size_t i;

  if (r == 0 && repair->list.bad > 0)
    r = write_target (repair, error);
  for (i = 0; i < repair->request->nr_sources; i++)
    repair_source_close (&repair->sources[i]);
  repair_list_free (&repair->list);
  return r;
}

/* What was repaired remains so. */
static void
add_repaired (const struct repair_result *result, struct error *error)
{
  struct error reason = *error;
  uint64_t repaired = result->blocks[REPAIR_DONE];

  if (repaired == 0)
    return;
  *error = (struct error) { "" };
  error_set (error, "%s; %" PRIu64 " block%s repaired before", reason.text,
             repaired, repaired == 1 ? " was" : "s were");
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

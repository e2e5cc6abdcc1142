/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source of good blocks.
 *
 * Blocks are read by a scan of the source, with a function that receives the
 * data.  Extents are not queried, because only few blocks are read, and
 * nothing that the source reports is trusted.  If a scan fails, the source is
 * closed, and it is not known which blocks were read.  So the source is opened
 * again, and the blocks are read again one at a time.
 *
 * A block that cannot be read can take seconds, if a disk retries the read, or
 * a server does not reply.  Therefore a source that fails for many consecutive
 * blocks is not used any more, even if it could provide other blocks.
 */

#include <config.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/numbers.h"
#include "read/scan.h"
#include "repair/repair-batch.h"
#include "repair/repair-manifest.h"
#include "repair/repair-source.h"
#include "repair/target.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"
#include "util/ranges.h"
#include "util/request.h"

#define MAX_FAILURES 16         /* consecutive blocks */

/* ---- Opening ---- */

/* Limit the open source to the size of the image; or, if the source is smaller,
 * to whole blocks.
 */
static void
limit_size (struct repair_source *source)
{
  uint64_t size = source->source->size, image = source->target->size;

  source->source->size =
    size < image ? ROUND_DOWN (size, (uint64_t) source->block_size) : image;
}

static int
check (struct repair_source *source, struct error *error)
{
  if (source->source->size == SOURCE_SIZE_UNKNOWN)
    return error_set (error, "can only be read sequentially, like a pipe, so "
                      "blocks cannot be read from it");
  if (target_is_in (source->target, source->source))
    return error_set (error, "is the disk that is to be repaired");
  limit_size (source);
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
  repair_source_close (source);
  return -1;
}

int
repair_source_init (struct repair_source *source, const char *operand,
                    const struct hash_request *request,
                    const struct target *target, uint32_t block_size,
                    struct error *error)
{
  *source = (struct repair_source) {
    .operand = operand, .options = request->source,
    .target = target, .block_size = block_size,
  };
  source->options.size = SOURCE_WHOLE;
  source->options.extents = false;
  if (open_source (source, error) == -1)
    return -1;
  repair_source_close (source);
  return 0;
}

void
repair_source_close (struct repair_source *source)
{
  if (source->source)
    source_close (source->source);
  source->source = NULL;
}

/* ---- Reading ---- */

/* Returns the index of the first block of BATCH that ends after OFFSET. */
static size_t
find_block (const struct repair_batch *batch, uint64_t offset)
{
  size_t low = 0, high = batch->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct repair_block *block = &batch->blocks[middle];

    if (block->offset + block->len <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void
copy (const struct repair_batch *batch, size_t i, const unsigned char *buf,
      uint64_t offset, uint64_t end)
{
  const struct repair_block *block = &batch->blocks[i];
  uint64_t from = MAX (block->offset, offset);
  size_t len = MIN (block->offset + block->len, end) - from;
  unsigned char *to = repair_batch_bytes (batch, i) + (from - block->offset);

  if (buf)
    memcpy (to, buf + (from - offset), len);
  else
    memset (to, 0, len);
}

/* Receive data from the scan.  Threads can call this at the same time, but
 * each for different bytes.
 */
static int
receive (void *opaque, const void *buf, uint64_t len, uint64_t offset)
{
  const struct repair_batch *batch = opaque;
  size_t i;

  for (i = find_block (batch, offset);
       i < batch->count && batch->blocks[i].offset < offset + len; i++)
    if (repair_batch_needs (batch, i))
      copy (batch, i, buf, offset, offset + len);
  return 0;
}

static bool
wanted (void *opaque, uint64_t offset, uint64_t *len)
{
  return ranges_has (opaque, offset, len);
}

/* Report only the first read error, because there can be one for each block. */
static void
warn (struct repair_source *source, const struct error *error)
{
  if (!source->warned)
    source->options.warn (source->operand, error);
  source->warned = true;
}

/* Read RANGES, which are of blocks of BATCH.  Returns false if the source
 * failed.
 */
static bool
read_ranges (struct repair_source *source, struct repair_batch *batch,
             struct ranges *ranges)
{
  struct error error = { "" };
  struct scan scan;
  bool failed;

  if (!source->source && open_source (source, &error) == -1) {
    source->options.warn (source->operand, &error);
    source->unusable = true;
    return false;
  }
  scan_init_copy (&scan, batch->manifest->block_size, source->source->size,
                  receive, batch);
  scan.request.wanted = wanted;
  scan.request.opaque = ranges;
  failed = source_scan (source->source, &scan) == -1;
  if (failed) {
    warn (source, &scan.error);
    repair_source_close (source);
  }
  scan_destroy (&scan);
  return !failed;
}

/* Count consecutive blocks that FAILED, and stop using the source after too
 * many of them.
 */
static void
count_failure (struct repair_source *source, bool failed)
{
  struct error error = { "" };

  source->failures = failed ? source->failures + 1 : 0;
  if (source->failures < MAX_FAILURES || source->unusable)
    return;
  error_set (&error, "could not be read in %d blocks in a row, and is not used "
             "any more", MAX_FAILURES);
  source->options.warn (source->operand, &error);
  source->unusable = true;
}

/* Read the blocks that BATCH needs among the COUNT blocks from block I on.
 * Set *FAILED to whether the source failed.  Returns 0, or -1 with the reason
 * in ERROR.
 */
static int
read_blocks (struct repair_source *source, struct repair_batch *batch,
             size_t i, size_t count, bool *failed, struct error *error)
{
  struct ranges ranges = { 0 };
  size_t end = i + count;
  int err = 0;

  for (; i < end && err == 0; i++)
    if (repair_batch_needs (batch, i))
      err = ranges_add (&ranges, batch->blocks[i].offset,
                        batch->blocks[i].len);
  *failed = false;
  if (err == 0 && ranges.count > 0)
    *failed = !read_ranges (source, batch, &ranges);
  ranges_free (&ranges);
  return err ? error_errno (error, err, "cannot repair") : 0;
}

int
repair_source_read (struct repair_source *source, struct repair_batch *batch,
                    struct error *error)
{
  bool failed, any = false;
  size_t i;

  for (i = 0; i < batch->count; i++)
    any |= repair_batch_needs (batch, i);
  if (source->unusable || !any)
    return 0;
  if (read_blocks (source, batch, 0, batch->count, &failed, error) == -1)
    return -1;
  if (!failed)
    source->failures = 0;
  for (i = 0; failed && i < batch->count && !source->unusable; i++) {
    bool block_failed;

    if (!repair_batch_needs (batch, i))
      continue;
    if (read_blocks (source, batch, i, 1, &block_failed, error) == -1)
      return -1;
    count_failure (source, block_failed);
  }
  return repair_batch_check (batch, error);
}

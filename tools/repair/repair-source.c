/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "read/scan.h"
#include "repair/repair-source.h"
#include "repair/target.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"
#include "util/request.h"

#define MAX_FAILURES 16         /* consecutive blocks */

/* ---- Opening ---- */

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
  repair_source_close (source);
  return -1;
}

int
repair_source_init (struct repair_source *source, const char *operand,
                    const struct hash_request *request,
                    const struct target *target, struct error *error)
{
  *source = (struct repair_source) {
    .operand = operand, .options = request->source, .target = target,
  };
  source->options.size = SOURCE_WHOLE;
  source->options.extents = false;
  source->options.threads = 1;
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

/* Returns true if the block was read, or false with the reason in ERROR. */
static bool
read_block (struct repair_source *source, size_t block_size, void *buf,
            size_t len, uint64_t offset, struct error *error)
{
  struct scan scan;
  bool failed;

  scan_init_copy (&scan, block_size, buf, len, offset);
  failed = source_scan (source->source, &scan) == -1;
  *error = scan.error;
  scan_destroy (&scan);
  if (failed)
    repair_source_close (source);
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

bool
repair_source_read (struct repair_source *source, size_t block_size, void *buf,
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

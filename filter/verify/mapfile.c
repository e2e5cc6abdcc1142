/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A mapfile of GNU ddrescue: which ranges are good, bad, and not tried.
 *
 * Clients that read at random can make millions of ranges.  After MAX_RANGES
 * ranges, the rest of the disk is recorded as not tried, so ddrescue needlessly
 * reads some blocks again.
 */

#include <config.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/common/mapfile.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/mapfile.h"
#include "verify/signature.h"

#define MAX_RANGES 100000

#define SIGNATURE MAPFILE_SIGNATURE ("nbdkit-blkhash-verify-filter")

static int
is_mapfile (int fd, char *why)
{
  (void) why;
  return signature_is (fd, SIGNATURE);
}

struct output_file mapfile = {
  .param = "blkhash-verify-mapfile", .is_ours = is_mapfile,
  .what = "a mapfile of this filter"
};

static char
status_of (enum block_state state)
{
  return state == BLOCK_OK ? MAPFILE_FINISHED
    : state == BLOCK_MISSING ? MAPFILE_NOT_TRIED : MAPFILE_BAD;
}

static void
print_range (FILE *out, const struct disk *disk, uint64_t first,
             uint64_t count, char status)
{
  mapfile_print_range (out, first * disk->block_size,
                       disk_bytes (disk, first, count), status);
}

/* Adjacent blocks that differ or are unreadable are one range. */
static void
print_ranges (FILE *out, struct disk *disk)
{
  uint64_t start = 0, block = 0;
  unsigned ranges = 0;
  char status = MAPFILE_NOT_TRIED;

  while (block < disk->blocks && ranges < MAX_RANGES) {
    enum block_state state;
    uint64_t count = tally_get_run (&disk->tally, block, &state);

    if (block > start && status_of (state) != status) {
      print_range (out, disk, start, block - start, status);
      start = block;
      ranges++;
    }
    status = status_of (state);
    block += count;
  }
  if (start < disk->blocks)
    print_range (out, disk, start, disk->blocks - start,
                 ranges < MAX_RANGES ? status : MAPFILE_NOT_TRIED);
}

static void
print_export_locked (FILE *out, const struct export *export)
{
  struct disk *disk = export->disk;

  if (export->connected)
    print_ranges (out, disk);
  else if (disk->blocks > 0)
    print_range (out, disk, 0, disk->blocks, MAPFILE_NOT_TRIED);
}

/* Returns NULL if there is no memory. */
static char *
make_text (void)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);

  if (!out)
    return NULL;
  fputs (SIGNATURE MAPFILE_STATUS_BEGIN MAPFILE_STATUS_END ("?"), out);
  {
    SCOPED_LOCK (&exports_lock);

    print_export_locked (out, exports_first_locked ());
  }
  return memstream_close (out, &text);
}

void
mapfile_write (void)
{
  char *text = make_text ();

  output_file_write (&mapfile, text);
  free (text);
}

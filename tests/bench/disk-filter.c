/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A filter for nbdkit that makes the storage slow: see disk-model.h.
 *
 *   disk-counts=FILE   file of the counts
 *   disk-delay=MS      for each read, and each request for extents
 *   disk-rate=BYTES    of a hard disk, per second
 *   disk-seek=MS       seek time of the hard disk; needs disk-rate
 *
 * Rejected: nbdkit's filters delay and rate.  The buckets of rate are full at
 * the start, which allows a burst, and neither simulates seeks or counts the
 * reads in flight.
 */

#include <config.h>

#include <stdint.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "disk-model.h"

static int
disk_config (nbdkit_next_config *next, nbdkit_backend *nxdata,
             const char *key, const char *value)
{
  if (strcmp (key, "disk-counts") == 0) {
    if (disk_map_counts (value) == 0)
      return 0;
    nbdkit_error ("%s: %m", value);
    return -1;
  }
  if (strcmp (key, "disk-delay") == 0)
    return nbdkit_parse_unsigned (key, value, &disk.delay);
  if (strcmp (key, "disk-rate") == 0) {
    disk.rate = nbdkit_parse_size (value);
    return disk.rate == -1 ? -1 : 0;
  }
  if (strcmp (key, "disk-seek") == 0)
    return nbdkit_parse_unsigned (key, value, &disk.seek);
  return next (nxdata, key, value);
}

static int
disk_pread (nbdkit_next *next, void *handle, void *buf, uint32_t count,
            uint64_t offset, uint32_t flags, int *err)
{
  double started = disk_begin (offset, count);
  int r = next->pread (next, buf, count, offset, flags, err);

  (void) handle;
  disk_end (started);
  return r;
}

static int
disk_extents (nbdkit_next *next, void *handle, uint32_t count,
              uint64_t offset, uint32_t flags, struct nbdkit_extents *extents,
              int *err)
{
  (void) handle;
  disk_look_up ();
  return next->extents (next, count, offset, flags, extents, err);
}

static struct nbdkit_filter filter = {
  .name = "disk",
  .longname = "slow storage, and its reads in flight",
  .config = disk_config,
  .pread = disk_pread,
  .extents = disk_extents,
};

NBDKIT_REGISTER_FILTER (filter)

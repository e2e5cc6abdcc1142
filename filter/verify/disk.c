/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk that is verified: its manifest, and what all connections share.
 *
 * The manifest is not trusted: it is accepted only if the sum of its leaves is
 * the expected one, unless that is "none".  One small record can claim a huge
 * disk of zeros, whose sum takes weeks to compute, so the number of blocks is
 * limited.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/numbers.h"
#include "../lib/construction/leaf.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest-index.h"
#include "verify/disk.h"
#include "verify/sum.h"

#define MAX_BLOCKS (UINT64_C (1) << 34) /* 1 PiB, in blocks of 64 KiB */

static int
refuse (const struct disk *disk, const char *why)
{
  nbdkit_error ("blkhash-verify: %s: %s", disk->path, why);
  return -1;
}

static int
no_memory (void)
{
  nbdkit_error ("blkhash-verify: %m");
  return -1;
}

static int
count_data (void *opaque, const struct blkhash_manifest_run *run)
{
  struct disk *disk = opaque;

  disk->data_blocks += run->leaves ? run->count : 0;
  return 0;
}

static int
count_zeros (void *opaque, const struct blkhash_manifest_run *run)
{
  struct disk *disk = opaque;

  if (run->leaves)
    return count_data (disk, run);
  disk->zeros += disk_bytes (disk, run->first, run->count);
  return tally_set_zeros (&disk->tally, run->first, run->count) == -1 ? ENOMEM
                                                                      : 0;
}

/* Read the manifest, and check that its sum is EXPECTED, unless that is NULL.
 */
static int
load_manifest (struct disk *disk, const struct sum *expected, unsigned flags)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  const struct blkhash_opts *opts;

  disk->index = manifest_index_new (disk->fd, expected || flags & DISK_COMPUTE
                                    ? 0 : BLKHASH_MANIFEST_NO_SUM,
                                    reason, sizeof reason);
  if (!disk->index)
    return refuse (disk, reason);
  opts = manifest_index_opts (disk->index);
  disk->size = manifest_index_size (disk->index);
  disk->block_size = blkhash_opts_get_block_size (opts);
  disk->leaf_size = blkhash_opts_get_digest_size (opts);
  disk->blocks = disk->size / disk->block_size +
    (disk->size % disk->block_size != 0);
  if (disk->leaf_size == 0)
    return refuse (disk, "the digest null proves nothing");
  if (disk->size > INT64_MAX || disk->blocks > MAX_BLOCKS)
    return refuse (disk, "it has too many blocks");
  if (expected && !blkhash_opts_same_hash (opts, expected->opts))
    return refuse (disk, "its digest, block size or construction is not that "
                   "of blkhash-verify-sum");
  if (tally_init (&disk->tally, disk->blocks) == -1)
    return no_memory ();
  if (manifest_index_load (disk->index,
                           flags & DISK_COUNT_ZEROS ? count_zeros : count_data,
                           disk, reason, sizeof reason) != 0)
    return refuse (disk, reason);
  if (expected && memcmp (manifest_index_sum (disk->index), expected->md,
                          disk->leaf_size) != 0)
    return refuse (disk, "its checksum is not blkhash-verify-sum");
  return 0;
}

static int
prepare (struct disk *disk)
{
  const struct blkhash_opts *opts = manifest_index_opts (disk->index);

  block_cache_init (&disk->cache, disk->block_size);
  disk->digest = digest_create (blkhash_opts_get_digest_name (opts));
  if (disk->digest)
    disk->engine = leaf_engine_create (disk->digest, disk->block_size);
  return disk->engine ? 0 : no_memory ();
}

static int
read_manifest (struct disk *disk, const char *sum, unsigned flags)
{
  struct sum expected;
  int r;

  if (strcmp (sum, "none") == 0)
    r = load_manifest (disk, NULL, flags);
  else {
    if (sum_parse (&expected, sum) == -1) {
      if (errno != EINVAL)
        return no_memory ();
      nbdkit_error ("blkhash-verify-sum: " SUM_INVALID ": %s", sum);
      return -1;
    }
    r = load_manifest (disk, &expected, flags);
    sum_free (&expected);
  }
  return r == -1 ? -1 : prepare (disk);
}

struct disk *
disk_open (int fd, const char *path, const char *sum, unsigned flags)
{
  struct disk *disk = calloc (1, sizeof *disk);

  if (!disk) {
    no_memory ();
    close (fd);
    return NULL;
  }
  disk->fd = fd;
  disk->path = path;
  if (read_manifest (disk, sum, flags) == 0)
    return disk;
  disk_free (disk);
  return NULL;
}

void
disk_close (struct disk *disk)
{
  if (disk->fd == -1)
    return;
  leaf_engine_free (disk->engine);
  digest_free (disk->digest);
  block_cache_destroy (&disk->cache);
  manifest_index_free (disk->index);
  close (disk->fd);
  disk->fd = -1;
}

void
disk_free (struct disk *disk)
{
  if (!disk)
    return;
  disk_close (disk);
  tally_destroy (&disk->tally);
  free (disk);
}

void
disk_stop (struct disk *disk)
{
  __atomic_store_n (&disk->stopped, true, __ATOMIC_RELAXED);
}

bool
disk_is_stopped (const struct disk *disk)
{
  return __atomic_load_n (&disk->stopped, __ATOMIC_RELAXED);
}

bool
disk_has_changed (const struct disk *disk)
{
  return __atomic_load_n (&disk->changed, __ATOMIC_RELAXED);
}

int
disk_get_run (struct disk *disk, uint64_t first, uint64_t max,
              unsigned char *leaves, struct blkhash_manifest_run *run, int *err)
{
  int failed = manifest_index_get (disk->index, first, max, leaves, run);

  if (failed == 0)
    return 0;
  if (failed != ESTALE)
    nbdkit_error ("blkhash-verify: %s: %s", disk->path, strerror (failed));
  else if (!__atomic_exchange_n (&disk->changed, true, __ATOMIC_RELAXED))
    nbdkit_error ("blkhash-verify: %s has changed since nbdkit started: blocks "
                  "whose digests are in a changed part cannot be verified",
                  disk->path);
  *err = EIO;
  return -1;
}

uint64_t
disk_bytes (const struct disk *disk, uint64_t first, uint64_t count)
{
  uint64_t offset = first * disk->block_size;

  return MIN (count * disk->block_size, disk->size - offset);
}

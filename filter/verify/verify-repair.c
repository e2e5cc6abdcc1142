/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compare blocks with the manifest, and read them from the repair sources.  See
 * verify-repair.h.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "../lib/construction/leaf.h"
#include "common/config-files.h"
#include "verify/verify-disk.h"
#include "verify/verify-params.h"
#include "verify/verify-repair.h"

/* ---- Comparing ---- */

/* Blocks are hashed in groups, so that the library can hash several at once. */
#define MAX_GROUP (2 * LEAF_GROUP)

struct compare_batch
compare_part (const struct verify_disk *disk, const struct compare_batch *batch,
              size_t number, size_t count)
{
  return (struct compare_batch) {
    .first = batch->first + number, .count = count,
    .leaves = batch->leaves ? batch->leaves + number * disk->leaf_size : NULL,
    .buf = batch->buf + number * disk->block_size,
  };
}

static bool
has_leaf (struct verify_disk *disk, const struct leaf_block *block,
          const unsigned char *leaf)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  if (!block->zero)
    return memcmp (block->md, leaf, disk->leaf_size) == 0;
  /* The block is zero, so leaf_batch did not hash it, but it is data in the
   * manifest.  With a digest that is not cryptographic, zeros can have the leaf
   * of that data.
   */
  return leaf_hash_zeros (disk->engine, block->len, md) == 0 &&
    memcmp (md, leaf, disk->leaf_size) == 0;
}

/* Compare at most MAX_GROUP blocks of data. */
static int
compare_group (struct verify_disk *disk, const struct compare_batch *batch,
               bool *good)
{
  unsigned char md[MAX_GROUP][BLKHASH_MAX_MD_SIZE];
  struct leaf_block blocks[MAX_GROUP];
  size_t i;
  int err;

  for (i = 0; i < batch->count; i++)
    blocks[i] = (struct leaf_block) {
      .data = batch->buf + i * disk->block_size,
      .len = verify_disk_bytes (disk, batch->first + i, 1),
      .md = md[i],
    };
  err = leaf_batch (disk->engine, blocks, batch->count);
  for (i = 0; err == 0 && i < batch->count; i++)
    good[i] = has_leaf (disk, &blocks[i],
                        batch->leaves + i * disk->leaf_size);
  return err;
}

static void
compare_zeros (const struct verify_disk *disk,
               const struct compare_batch *batch, bool *good)
{
  size_t i;

  for (i = 0; i < batch->count; i++)
    good[i] = is_zero (batch->buf + i * disk->block_size,
                       verify_disk_bytes (disk, batch->first + i, 1));
}

int
compare_blocks (struct verify_disk *disk, const struct compare_batch *batch,
                bool *good)
{
  int err = 0;
  size_t i;

  if (!batch->leaves) {
    compare_zeros (disk, batch, good);
    return 0;
  }
  for (i = 0; err == 0 && i < batch->count; i += MAX_GROUP) {
    struct compare_batch group =
      compare_part (disk, batch, i, MIN (batch->count - i, MAX_GROUP));

    err = compare_group (disk, &group, good + i);
  }
  return err;
}

/* ---- Repair sources ---- */

/* If the first WRONG_BLOCKS blocks that are read from a source are all wrong,
 * this is logged.
 */
#define WRONG_BLOCKS 16

struct repair_file {
  const char *path;
  int fd;
  unsigned wrong;               /* number of blocks that did not match, at most
                                 * WRONG_BLOCKS; a block that matches sets it
                                 * to WRONG_BLOCKS, so that nothing is logged;
                                 * atomic */
  bool ends;                    /* it was logged that the source is too small;
                                 * atomic */
};

static struct repair_file sources[MAX_REPAIR_SOURCES];
static unsigned nr_sources;     /* set before the server forks */

static int
refuse (const char *path, const char *why)
{
  nbdkit_error ("blkhash-verify-repair: %s: %s", path, why);
  return -1;
}

/* Returns the file descriptor, or -1 after nbdkit_error. */
static int
open_file (const char *path)
{
  struct stat st;
  int fd;

  if (config_files_check ("blkhash-verify-repair", path) == -1)
    return -1;
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd == -1)
    return refuse (path, strerror (errno));
  if (fstat (fd, &st) == 0 && (S_ISREG (st.st_mode) || S_ISBLK (st.st_mode)))
    return fd;
  close (fd);
  return refuse (path, "not a regular file or block device");
}

void
repair_close (void)
{
  while (nr_sources > 0)
    close (sources[--nr_sources].fd);
}

int
repair_open (void)
{
  for (; nr_sources < verify_params.nr_repair; nr_sources++) {
    struct repair_file source = { .path = verify_params.repair[nr_sources] };

    source.fd = open_file (source.path);
    if (source.fd == -1) {
      repair_close ();
      return -1;
    }
    sources[nr_sources] = source;
  }
  return 0;
}

/* Returns false if SOURCE cannot be read, or ends before OFFSET + LEN. */
static bool
read_source (struct repair_file *source, unsigned char *buf, size_t len,
             uint64_t offset)
{
  while (len > 0) {
    ssize_t n = pread (source->fd, buf, len, offset);

    if (n == -1 && errno == EINTR)
      continue;
    if (n == -1)
      nbdkit_error ("blkhash-verify-repair: %s: cannot read: %m",
                    source->path);
    if (n == 0 && !__atomic_exchange_n (&source->ends, true, __ATOMIC_RELAXED))
      nbdkit_error ("blkhash-verify-repair: %s: is smaller than the disk, and "
                    "lacks blocks", source->path);
    if (n <= 0)
      return false;
    buf += n;
    len -= n;
    offset += n;
  }
  return true;
}

/* A block of SOURCE was read, and matches the manifest if GOOD.  A source all
 * of whose blocks are wrong is probably another disk.
 */
static void
count_block (struct repair_file *source, bool good)
{
  unsigned wrong = __atomic_load_n (&source->wrong, __ATOMIC_RELAXED);

  if (good)
    __atomic_store_n (&source->wrong, WRONG_BLOCKS, __ATOMIC_RELAXED);
  else if (wrong < WRONG_BLOCKS &&
           __atomic_add_fetch (&source->wrong, 1, __ATOMIC_RELAXED) ==
           WRONG_BLOCKS)
    nbdkit_error ("blkhash-verify-repair: %s: the first %d blocks that were "
                  "read from it are wrong: it may be another disk",
                  source->path, WRONG_BLOCKS);
}

/* Read BLOCK from SOURCE.  Returns true if it matches the manifest. */
static bool
has_block (struct repair_file *source, struct verify_disk *disk,
           const struct compare_batch *block)
{
  bool good = false;

  if (!read_source (source, block->buf,
                    verify_disk_bytes (disk, block->first, 1),
                    block->first * disk->block_size) ||
      compare_blocks (disk, block, &good) != 0)
    return false;
  count_block (source, good);
  return good;
}

bool
repair_read (struct verify_disk *disk, const struct compare_batch *block)
{
  size_t len = verify_disk_bytes (disk, block->first, 1);
  struct compare_batch copy = *block;
  bool good = false;
  unsigned i;

  if (!block->leaves) {
    memset (block->buf, 0, len);
    return true;
  }
  copy.buf = malloc (len);      /* if no source has the block, FAIL_WARN may
                                 * serve BLOCK as it is */
  if (!copy.buf) {
    nbdkit_error ("blkhash-verify: %m");
    return false;
  }
  for (i = 0; i < nr_sources && !good; i++)
    good = has_block (&sources[i], disk, &copy);
  if (good)
    memcpy (block->buf, copy.buf, len);
  free (copy.buf);
  return good;
}

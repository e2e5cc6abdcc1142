/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The repair sources: other disks that may have the blocks that are bad on the
 * plugin's disk.
 *
 * A source is not trusted.  It can be damaged, be another snapshot, have
 * another size, or even be the plugin's disk: a block is only used if it
 * matches its leaf in the manifest.  The sources are read one after the other
 * until one of them has a matching block.  A source that had a wrong block is
 * still read for other blocks.  A block that must be zero is filled with zeros
 * without reading a source.
 *
 * Files are read without a lock and without a timeout, as a plugin reads them.
 * NBD servers have a timeout: see repair-nbd.c.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "config-files.h"
#include "verify/compare.h"
#include "verify/disk.h"
#include "verify/repair.h"
#include "verify/repair-nbd.h"

/* If the first WRONG_BLOCKS blocks that are read from a source are all wrong,
 * this is logged.
 */
#define WRONG_BLOCKS 16

struct repair_source {
  const char *name;             /* of the file or server */
  int fd;                       /* of a file; or -1 */
  struct repair_nbd *nbd;       /* a server; or NULL */
  unsigned wrong;               /* number of blocks that did not match, at most
                                 * WRONG_BLOCKS; a block that matches sets it
                                 * to WRONG_BLOCKS, so that nothing is logged;
                                 * atomic */
  bool ends;                    /* it was logged that the source is too small;
                                 * atomic */
};

/* Set before the server forks.  sources[I] is for verify_params.repair[I]. */
static struct repair_source sources[MAX_REPAIR_SOURCES];
static unsigned nr_sources;

/* ---- Files ---- */

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

/* SOURCE ends before the end of a block that is needed: log this once. */
static void
log_end (struct repair_source *source)
{
  if (!__atomic_exchange_n (&source->ends, true, __ATOMIC_RELAXED))
    nbdkit_error ("blkhash-verify-repair: %s: is smaller than the disk, and "
                  "lacks blocks", source->name);
}

/* Returns false if the file cannot be read, or ends before OFFSET + LEN. */
static bool
read_file (struct repair_source *source, unsigned char *buf, size_t len,
           uint64_t offset)
{
  while (len > 0) {
    ssize_t n = pread (source->fd, buf, len, offset);

    if (n == -1 && errno == EINTR)
      continue;
    if (n == -1)
      nbdkit_error ("blkhash-verify-repair: %s: cannot read: %m",
                    source->name);
    if (n == 0)
      log_end (source);
    if (n <= 0)
      return false;
    buf += n;
    len -= n;
    offset += n;
  }
  return true;
}

/* ---- Sources ---- */

static int
open_source (const struct repair_param *param)
{
  struct repair_source *source = &sources[nr_sources];

  *source = (struct repair_source) { .name = param->name, .fd = -1 };
  if (param->is_uri)
    source->nbd = repair_nbd_new (param->name);
  else
    source->fd = open_file (param->name);
  if (source->fd == -1 && !source->nbd)
    return -1;
  nr_sources++;
  return 0;
}

int
repair_open (void)
{
  unsigned i;

  for (i = 0; i < verify_params.nr_repair; i++)
    if (open_source (&verify_params.repair[i]) == -1) {
      repair_close ();
      return -1;
    }
  return 0;
}

void
repair_close (void)
{
  while (nr_sources > 0) {
    struct repair_source *source = &sources[--nr_sources];

    if (source->fd != -1)
      close (source->fd);
    repair_nbd_free (source->nbd);
  }
}

/* A block of SOURCE was read, and matches the manifest if GOOD.  A source all
 * of whose blocks are wrong is probably another disk.
 */
static void
count_block (struct repair_source *source, bool good)
{
  unsigned wrong = __atomic_load_n (&source->wrong, __ATOMIC_RELAXED);

  if (good)
    __atomic_store_n (&source->wrong, WRONG_BLOCKS, __ATOMIC_RELAXED);
  else if (wrong < WRONG_BLOCKS &&
           __atomic_add_fetch (&source->wrong, 1, __ATOMIC_RELAXED) ==
           WRONG_BLOCKS)
    nbdkit_error ("blkhash-verify-repair: %s: the first %d blocks that were "
                  "read from it are wrong: it may be another disk",
                  source->name, WRONG_BLOCKS);
}

/* Read BLOCK from source I.  Returns true if it matches the manifest. */
static bool
has_block (unsigned i, struct disk *disk, const struct compare_batch *block,
           struct repair_waits *waits)
{
  struct repair_source *source = &sources[i];
  size_t len = disk_bytes (disk, block->first, 1);
  uint64_t offset = block->first * disk->block_size;
  bool good = false, ends = false;
  bool have = source->nbd
    ? repair_nbd_read (source->nbd, block->buf, len, offset, &waits->of[i],
                       &waits->stopped, &ends)
    : read_file (source, block->buf, len, offset);

  if (ends)
    log_end (source);
  if (!have || compare (disk, block, &good) != 0)
    return false;
  count_block (source, good);
  return good;
}

/* A sleep of length zero asks nbdkit whether the client or nbdkit is ending.
 * nbdkit logs an error each time it interrupts a sleep, so do not ask again
 * after it did.
 */
bool
repair_is_stopped (struct repair_waits *waits)
{
  if (!waits->stopped)
    waits->stopped = nbdkit_nanosleep (0, 0) == -1;
  return waits->stopped;
}

bool
repair_read (struct disk *disk, const struct compare_batch *block,
             struct repair_waits *waits)
{
  size_t len = disk_bytes (disk, block->first, 1);
  struct compare_batch copy = *block;
  bool good = false;
  unsigned i;

  if ((nr_sources == 0 && !verify_params.repair_write) ||
      repair_is_stopped (waits))
    return false;
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
  for (i = 0; i < nr_sources && !good && !waits->stopped; i++)
    good = has_block (i, disk, &copy, waits);
  if (good)
    memcpy (block->buf, copy.buf, len);
  free (copy.buf);
  return good;
}

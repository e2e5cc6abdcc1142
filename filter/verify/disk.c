/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk that is verified: its manifest, and what all connections share.
 *
 * The manifest is not trusted: it is accepted only if the sum of its leaves is
 * the expected one, unless that is "none".  One small record can claim a huge
 * disk of zeros, whose sum takes weeks to compute, so the number of blocks is
 * limited, and disk_load stops if nobody waits for it any more.
 *
 * The sum of a manifest is computed once.  Later disks with the same file and
 * expected sum are refused for the same reason or, if the content has the
 * digest that was verified, are accepted.  The time of the last change alone
 * does not prove that the content is the same: the storage is not trusted.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/util.h"
#include "../lib/construction/leaf.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest-index.h"
#include "verify/disk.h"

#define MAX_BLOCKS (UINT64_C (1) << 34) /* 1 PiB, in blocks of 64 KiB */
#define CHANGED "it has changed"
#define MAX_VERDICTS 1024
#define SETTLED 2               /* seconds: the coarsest resolution of the times
                                 * that file systems store */
#define POLL_RUNS 65536         /* runs of blocks that are counted between two
                                 * questions to nbdkit */

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

/* ---- Remembered manifests ---- */

/* How disk_load ended for a manifest. */
struct verdict {
  struct stat st;               /* identifies the file: see is_same_file */
  const char *sum_text;         /* the expected sum: the same address */
  char why[BLKHASH_MAX_REASON_SIZE]; /* why it was refused; empty: it has the
                                      * expected sum */
  unsigned char digest[MANIFEST_INDEX_DIGEST_SIZE]; /* of its content, unless it
                                                     * was refused */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct verdict verdicts[MAX_VERDICTS];
static size_t nr_verdicts, next_verdict; /* the next one to replace */

static bool
is_same_file (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
    a->st_size == b->st_size &&
    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
    a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static struct verdict *
find_verdict_locked (const struct disk *disk)
{
  size_t i;

  for (i = 0; i < nr_verdicts; i++)
    if (verdicts[i].sum_text == disk->sum_text &&
        is_same_file (&verdicts[i].st, &disk->st))
      return &verdicts[i];
  return NULL;
}

static bool
find_verdict (const struct disk *disk, struct verdict *found)
{
  SCOPED_LOCK (&lock);
  const struct verdict *verdict = find_verdict_locked (disk);

  if (verdict)
    *found = *verdict;
  return verdict;
}

static void
add_verdict (const struct verdict *verdict, const struct disk *disk)
{
  SCOPED_LOCK (&lock);
  struct verdict *place = find_verdict_locked (disk);

  if (!place) {
    place = &verdicts[next_verdict];
    next_verdict = (next_verdict + 1) % MAX_VERDICTS;
    nr_verdicts = MIN (nr_verdicts + 1, MAX_VERDICTS);
  }
  *place = *verdict;
}

/* The manifest was refused, and would be refused again: remember WHY.  A file
 * that was modified just before it was opened is not remembered, because
 * another change may give it the same time.
 */
static void
add_refused (const struct disk *disk, const char *why)
{
  struct verdict verdict = { .st = disk->st, .sum_text = disk->sum_text };

  if (!disk->settled)
    return;
  snprintf (verdict.why, sizeof verdict.why, "%s", why);
  add_verdict (&verdict, disk);
}

void
disk_forget_manifests (void)
{
  SCOPED_LOCK (&lock);

  nr_verdicts = next_verdict = 0;
}

/* ---- Opening ---- */

static bool
is_settled (const struct stat *st)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  return now.tv_sec - st->st_ctim.tv_sec > SETTLED;
}

static int
read_header (struct disk *disk)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  const struct blkhash_opts *opts;

  if (fstat (disk->fd, &disk->st) == -1)
    return refuse (disk, strerror (errno));
  disk->settled = is_settled (&disk->st);
  disk->index = manifest_index_new (disk->fd, reason, sizeof reason);
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
  if (disk->sum.opts && !blkhash_opts_same_hash (opts, disk->sum.opts))
    return refuse (disk, "its digest, block size or construction is not that "
                   "of blkhash-verify-sum");
  return 0;
}

static int
parse_sum (struct disk *disk)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  if (strcmp (disk->sum_text, "none") == 0 ||
      expected_sum_parse (&disk->sum, disk->sum_text, NULL, reason) == 0)
    return 0;
  nbdkit_error ("blkhash-verify-sum: %s", reason);
  return -1;
}

struct disk *
disk_open (int fd, const char *path, const char *sum)
{
  struct disk *disk = calloc (1, sizeof *disk);

  if (!disk) {
    no_memory ();
    close (fd);
    return NULL;
  }
  disk->fd = fd;
  disk->path = path;
  disk->sum_text = sum;
  if (parse_sum (disk) == 0 && read_header (disk) == 0)
    return disk;
  disk_free (disk);
  return NULL;
}

/* ---- Loading ---- */

/* A sleep of length zero asks nbdkit whether the client or nbdkit is ending. */
static int
poll_nbdkit (void *opaque)
{
  (void) opaque;
  return nbdkit_nanosleep (0, 0) == -1 ? ECANCELED : 0;
}

/* Compare the content of the manifest with DIGEST, that of the verified
 * content; or remember it as verified if DIGEST is NULL.  Returns 1 if it
 * differs.
 */
static int
check_digest (struct disk *disk, const unsigned char *digest)
{
  struct verdict good = { .st = disk->st, .sum_text = disk->sum_text };
  int err = manifest_index_digest (disk->index, good.digest);

  if (err)
    return refuse (disk, strerror (err));
  if (!digest) {
    add_verdict (&good, disk);
    return 0;
  }
  return memcmp (good.digest, digest, sizeof good.digest) != 0;
}

/* Read the manifest.  If DIGEST is not NULL, it is that of content that was
 * verified, and the sum is not computed.  Returns 0; 1 if the content differs;
 * or -1 after nbdkit_error.
 */
static int
read_records (struct disk *disk, const unsigned char *digest, unsigned flags)
{
  bool has_sum = disk->sum.opts || flags & DISK_COMPUTE;
  char reason[BLKHASH_MAX_REASON_SIZE];
  int err;

  if (flags & DISK_FOR_CLIENT)
    manifest_index_set_poll (disk->index, poll_nbdkit, NULL);
  if (digest || !has_sum)
    manifest_index_skip_sum (disk->index);
  err = manifest_index_load (disk->index, NULL, NULL, reason, sizeof reason);
  if (err == 0 && disk->sum.opts &&
      memcmp (manifest_index_sum (disk->index), disk->sum.md,
              disk->leaf_size) != 0) {
    strcpy (reason, "its sum is not blkhash-verify-sum");
    err = EBADMSG;
  }
  if (err == EBADMSG)
    add_refused (disk, reason);
  if (err)
    return refuse (disk, reason);
  return has_sum ? check_digest (disk, digest) : 0;
}

/* The content has changed, although the file has the same times and size. */
static int
read_again (struct disk *disk, unsigned flags)
{
  uint64_t size = disk->size;

  manifest_index_free (disk->index);
  disk->index = NULL;
  if (lseek (disk->fd, 0, SEEK_SET) == -1)
    return refuse (disk, strerror (errno));
  if (read_header (disk) == -1)
    return -1;
  return disk->size == size ? read_records (disk, NULL, flags)
                            : refuse (disk, CHANGED);
}

struct counting {
  struct disk *disk;
  unsigned flags;
  unsigned runs;                /* number of runs so far */
};

static int
count_run (void *opaque, const struct blkhash_manifest_run *run)
{
  struct counting *counting = opaque;
  struct disk *disk = counting->disk;

  if (!run->leaves)
    disk->zeros += disk_bytes (disk, run->first, run->count);
  if (counting->flags & DISK_FOR_CLIENT && ++counting->runs % POLL_RUNS == 0)
    return poll_nbdkit (NULL);
  return 0;
}

/* The blocks are counted, and the memory for their states is allocated, only
 * now, because the manifest could claim any number of them before its sum was
 * verified.
 */
static int
count_blocks (struct disk *disk, unsigned flags)
{
  struct counting counting = { .disk = disk, .flags = flags };
  int err = 0;

  if (tally_init (&disk->tally, disk->blocks) == -1)
    return no_memory ();
  if (flags & DISK_COUNT)
    err = manifest_index_each (disk->index, count_run, &counting);
  return err == 0 ? 0
    : refuse (disk, err == ESTALE ? CHANGED : strerror (err));
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

int
disk_load (struct disk *disk, unsigned flags)
{
  struct verdict found;
  bool known = find_verdict (disk, &found);
  int r;

  if (known && *found.why)
    return refuse (disk, found.why);
  r = read_records (disk, known ? found.digest : NULL, flags);
  if (r == 1)
    r = read_again (disk, flags);
  return r == -1 || count_blocks (disk, flags) == -1 ? -1 : prepare (disk);
}

/* ---- Closing ---- */

void
disk_close (struct disk *disk)
{
  if (disk->fd == -1)
    return;
  leaf_engine_free (disk->engine);
  digest_free (disk->digest);
  block_cache_destroy (&disk->cache);
  manifest_index_free (disk->index);
  expected_sum_destroy (&disk->sum);
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk that is verified, and the cache of verified blocks.  See
 * verify-disk.h.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/same-file.h"
#include "../lib/common/util.h"
#include "../lib/construction/leaf.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest-index.h"
#include "blkhash.h"
#include "verify/verify-disk.h"

/* ---- The cache ---- */

struct cached_blocks cached_blocks = {
  .lock = PTHREAD_MUTEX_INITIALIZER,
  .ended = { [0 ... BLOCK_CACHE_CONDS - 1] = PTHREAD_COND_INITIALIZER },
  .lru = { cached_blocks.entries, BLOCK_CACHE_ENTRIES, 0 },
};

static struct cached_blocks *const all = &cached_blocks;

static uint64_t
number_of (const struct block_cache *cache, uint64_t block)
{
  return cache->id << BLOCK_CACHE_BLOCK_BITS | block;
}

static size_t *
size_of (const struct lru_entry *entry)
{
  return &all->sizes[entry - all->entries];
}

static void
free_entry_locked (struct lru_entry *entry)
{
  free (entry->bytes);
  *entry = (struct lru_entry) { .used = 0 };
  all->size -= *size_of (entry);
  *size_of (entry) = 0;
}

/* Returns the least recently used entry that has memory. */
static struct lru_entry *
oldest_locked (void)
{
  struct lru_entry *oldest = NULL;
  size_t i;

  for (i = 0; i < BLOCK_CACHE_ENTRIES; i++)
    if (all->entries[i].bytes &&
        (!oldest || all->entries[i].used < oldest->used))
      oldest = &all->entries[i];
  return oldest;
}

/* Returns an entry with SIZE bytes of memory for block NUMBER, or NULL if there
 * is no memory.  If the entry of a replaced block has this size, its memory is
 * reused, because each new allocation costs page faults.
 */
static struct lru_entry *
allocate_locked (uint64_t number, size_t size)
{
  struct lru_entry *entry = lru_find (&all->lru, number);

  while (all->size - *size_of (entry) + size > BLOCK_CACHE_SIZE) {
    free_entry_locked (entry);
    entry = oldest_locked ();
  }
  if (*size_of (entry) == size)
    return entry;
  free_entry_locked (entry);
  entry->bytes = malloc (size);
  if (!entry->bytes)
    return NULL;
  *size_of (entry) = size;
  all->size += size;
  return entry;
}

/* The disk gets the lowest free number.  The list is sorted by number. */
void
block_cache_init (struct block_cache *cache, size_t block_size)
{
  struct block_cache **link = &all->disks;
  SCOPED_LOCK (&all->lock);

  *cache = (struct block_cache) { .block_size = block_size };
  for (; *link && (*link)->id == cache->id; link = &(*link)->next)
    cache->id++;
  cache->next = *link;
  *link = cache;
}

static void
clear_locked (const struct block_cache *cache)
{
  size_t i;

  for (i = 0; i < BLOCK_CACHE_ENTRIES; i++)
    if (all->entries[i].number >> BLOCK_CACHE_BLOCK_BITS == cache->id)
      free_entry_locked (&all->entries[i]);
}

void
block_cache_clear (const struct block_cache *cache)
{
  SCOPED_LOCK (&all->lock);

  clear_locked (cache);
}

void
block_cache_destroy (struct block_cache *cache)
{
  struct block_cache **link = &all->disks;
  SCOPED_LOCK (&all->lock);

  while (*link && *link != cache)
    link = &(*link)->next;
  if (!*link)
    return;
  *link = cache->next;
  clear_locked (cache);
}

static pthread_cond_t *
ended_cond (uint64_t number)
{
  return &all->ended[number % BLOCK_CACHE_CONDS];
}

static bool
read_locked (uint64_t number, void *buf, size_t len, size_t skip)
{
  struct lru_entry *entry = lru_find (&all->lru, number);

  if (!lru_has (entry, number))
    return false;
  memcpy (buf, entry->bytes + skip, len);
  lru_use (&all->lru, entry, number);
  return true;
}

/* Returns the ID of a load of block NUMBER, or 0 if there is none. */
static uint64_t
find_load_locked (uint64_t number)
{
  const struct block_load *load = all->loads;

  while (load && load->number != number)
    load = load->next;
  return load ? load->id : 0;
}

static bool
is_loading_locked (uint64_t id)
{
  const struct block_load *load = all->loads;

  while (load && load->id != id)
    load = load->next;
  return load;
}

bool
block_cache_begin (const struct block_cache *cache, uint64_t block,
                   void *buf, size_t len, size_t skip,
                   struct block_load *load)
{
  uint64_t number = number_of (cache, block), other;
  SCOPED_LOCK (&all->lock);

  if (read_locked (number, buf, len, skip))
    return true;
  other = find_load_locked (number);
  while (is_loading_locked (other))
    pthread_cond_wait (ended_cond (number), &all->lock);
  if (other && read_locked (number, buf, len, skip))
    return true;
  *load = (struct block_load) { all->loads, number, ++all->last_id };
  all->loads = load;
  return false;
}

static void
add_locked (uint64_t number, const void *bytes, size_t len, size_t block_size)
{
  struct lru_entry *entry = allocate_locked (number, block_size);

  if (!entry)
    return;
  memcpy (entry->bytes, bytes, len);
  lru_use (&all->lru, entry, number);
}

void
block_cache_end (const struct block_cache *cache, struct block_load *load,
                 const void *bytes, size_t len)
{
  struct block_load **link = &all->loads;
  SCOPED_LOCK (&all->lock);

  while (*link != load)
    link = &(*link)->next;
  *link = load->next;
  pthread_cond_broadcast (ended_cond (load->number));
  if (bytes)
    add_locked (load->number, bytes, len, cache->block_size);
}

/* ---- The disk ---- */

#define MAX_BLOCKS (UINT64_C (1) << 34) /* 1 PiB, in blocks of 64 KiB */
#define CHANGED "it has changed"
#define MAX_VERDICTS 1024
#define SETTLED 2               /* seconds: the coarsest resolution of the times
                                 * that file systems store */
#define POLL_RUNS 65536         /* runs of blocks that are counted between two
                                 * questions to nbdkit */

static int
refuse (const struct verify_disk *disk, const char *why)
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

uint64_t
verify_disk_bytes (const struct verify_disk *disk, uint64_t first,
                   uint64_t count)
{
  uint64_t offset = first * disk->block_size;

  return MIN (count * disk->block_size, disk->size - offset);
}

/* ---- Remembered manifests ---- */

/* How verify_disk_load ended for a manifest. */
struct verdict {
  struct stat st;               /* identifies the file: see same_version */
  const char *sum_text;         /* the expected sum: the same address */
  char why[BLKHASH_MAX_REASON_SIZE]; /* why it was refused; empty: it has the
                                      * expected sum */
  unsigned char digest[MANIFEST_INDEX_DIGEST_SIZE]; /* of its content, unless it
                                                     * was refused */
};

/* Protects the variables below. */
static pthread_mutex_t verdicts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct verdict verdicts[MAX_VERDICTS];
static size_t nr_verdicts, next_verdict; /* the next one to replace */

static struct verdict *
find_verdict_locked (const struct verify_disk *disk)
{
  size_t i;

  for (i = 0; i < nr_verdicts; i++)
    if (verdicts[i].sum_text == disk->sum_text &&
        same_version (&verdicts[i].st, &disk->st))
      return &verdicts[i];
  return NULL;
}

static bool
find_verdict (const struct verify_disk *disk, struct verdict *found)
{
  SCOPED_LOCK (&verdicts_lock);
  const struct verdict *verdict = find_verdict_locked (disk);

  if (verdict)
    *found = *verdict;
  return verdict;
}

static void
add_verdict (const struct verdict *verdict, const struct verify_disk *disk)
{
  SCOPED_LOCK (&verdicts_lock);
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
add_refused (const struct verify_disk *disk, const char *why)
{
  struct verdict verdict = { .st = disk->st, .sum_text = disk->sum_text };

  if (!disk->settled)
    return;
  snprintf (verdict.why, sizeof verdict.why, "%s", why);
  add_verdict (&verdict, disk);
}

void
verify_disk_forget_manifests (void)
{
  SCOPED_LOCK (&verdicts_lock);

  nr_verdicts = next_verdict = 0;
}

/* ---- Closing ---- */

void
verify_disk_close (struct verify_disk *disk)
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
verify_disk_free (struct verify_disk *disk)
{
  if (!disk)
    return;
  verify_disk_close (disk);
  tally_destroy (&disk->tally);
  free (disk);
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
read_header (struct verify_disk *disk)
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
  disk->blocks = DIV_ROUND_UP (disk->size, disk->block_size);
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
parse_sum (struct verify_disk *disk)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  if (strcmp (disk->sum_text, "none") == 0 ||
      expected_sum_parse (&disk->sum, disk->sum_text, NULL, reason) == 0)
    return 0;
  nbdkit_error ("blkhash-verify-sum: %s", reason);
  return -1;
}

struct verify_disk *
verify_disk_open (int fd, const char *path, const char *sum)
{
  struct verify_disk *disk = calloc (1, sizeof *disk);

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
  verify_disk_free (disk);
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

/* Set *DIFFERS to whether the content of the manifest has another digest than
 * DIGEST, that of the verified content; or remember it as verified if DIGEST is
 * NULL.
 */
static int
check_digest (struct verify_disk *disk, const unsigned char *digest,
              bool *differs)
{
  struct verdict good = { .st = disk->st, .sum_text = disk->sum_text };
  int err = manifest_index_digest (disk->index, good.digest);

  if (err)
    return refuse (disk, strerror (err));
  if (!digest) {
    add_verdict (&good, disk);
    return 0;
  }
  *differs = memcmp (good.digest, digest, sizeof good.digest) != 0;
  return 0;
}

/* Read the manifest.  If DIGEST is not NULL, it is that of content that was
 * verified, and the sum is not computed; *DIFFERS is set if this content is
 * another one.  Returns 0, or -1 after nbdkit_error.
 */
static int
read_records (struct verify_disk *disk, const unsigned char *digest,
              unsigned flags, bool *differs)
{
  bool has_sum = disk->sum.opts || flags & DISK_COMPUTE;
  char reason[BLKHASH_MAX_REASON_SIZE];
  int err;

  *differs = false;
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
  return has_sum ? check_digest (disk, digest, differs) : 0;
}

/* The content has changed, although the file has the same times and size. */
static int
read_again (struct verify_disk *disk, unsigned flags)
{
  uint64_t size = disk->size;
  bool differs;

  manifest_index_free (disk->index);
  disk->index = NULL;
  if (lseek (disk->fd, 0, SEEK_SET) == -1)
    return refuse (disk, strerror (errno));
  if (read_header (disk) == -1)
    return -1;
  return disk->size == size ? read_records (disk, NULL, flags, &differs)
                            : refuse (disk, CHANGED);
}

struct counting {
  struct verify_disk *disk;
  unsigned flags;
  unsigned runs;                /* number of runs so far */
};

static int
count_run (void *opaque, const struct blkhash_manifest_run *run)
{
  struct counting *counting = opaque;
  struct verify_disk *disk = counting->disk;

  if (!run->leaves)
    disk->zeros += verify_disk_bytes (disk, run->first, run->count);
  if (counting->flags & DISK_FOR_CLIENT && ++counting->runs % POLL_RUNS == 0)
    return poll_nbdkit (NULL);
  return 0;
}

/* The blocks are counted, and the memory for their states is allocated, only
 * now, because the manifest could claim any number of them before its sum was
 * verified.
 */
static int
count_blocks (struct verify_disk *disk, unsigned flags)
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
prepare (struct verify_disk *disk)
{
  const struct blkhash_opts *opts = manifest_index_opts (disk->index);

  block_cache_init (&disk->cache, disk->block_size);
  disk->digest = digest_create (blkhash_opts_get_digest_name (opts));
  if (disk->digest)
    disk->engine = leaf_engine_create (disk->digest, disk->block_size);
  return disk->engine ? 0 : no_memory ();
}

int
verify_disk_load (struct verify_disk *disk, unsigned flags)
{
  struct verdict found;
  bool known = find_verdict (disk, &found), differs;

  if (known && *found.why)
    return refuse (disk, found.why);
  if (read_records (disk, known ? found.digest : NULL, flags,
                    &differs) == -1 ||
      (differs && read_again (disk, flags) == -1) ||
      count_blocks (disk, flags) == -1)
    return -1;
  return prepare (disk);
}

/* ---- Use ---- */

void
verify_disk_stop (struct verify_disk *disk)
{
  __atomic_store_n (&disk->stopped, true, __ATOMIC_RELAXED);
}

bool
verify_disk_is_stopped (const struct verify_disk *disk)
{
  return __atomic_load_n (&disk->stopped, __ATOMIC_RELAXED);
}

bool
verify_disk_has_changed (const struct verify_disk *disk)
{
  return __atomic_load_n (&disk->changed, __ATOMIC_RELAXED);
}

int
verify_disk_get_run (struct verify_disk *disk, uint64_t first, uint64_t max,
                     unsigned char *leaves, struct blkhash_manifest_run *run,
                     int *err)
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

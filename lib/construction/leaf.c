/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread hashes the blocks of a group with a kernel, a SIMD (multi-buffer)
 * implementation of the digest, if there is one: see lanes.h.  Otherwise it
 * hashes them one after the other, with the library that implements the digest.
 *
 * Batches of many threads are queued and hashed in groups.  If fewer threads
 * are hashing than there are CPUs, a thread takes a group of blocks from the
 * queue, and hashes them itself.  If other threads wait, it takes the oldest
 * blocks, which can belong to their batches; their data is not copied.  The
 * other threads wait until their batches are done.  After leaf_enable_gather, a
 * batch that does not fill the lanes (see lanes.h) waits up to GATHER_TIMEOUT
 * for other batches, so that groups are full even if each thread has only a few
 * blocks.
 *
 * The benefit of that wait was measured on a busy Rocket Lake machine with 2
 * CPUs.  nbdcopy read 512 MiB from a file in memory through the filter, in
 * requests of 256 KiB, with 1, 4 and 16 requests in flight.  Runs without and
 * with the wait alternated, in 9 pairs.  The table shows the elapsed time and
 * the CPU time without the wait, each divided by the same time with the wait:
 * the median of the pairs, and in parentheses the lowest and the highest ratio.
 * The kernel was forced with BLKHASH_CPU, except in the last column, where the
 * library selected SHA-NI.
 *
 *   in flight           AVX-512 forced     AVX2 forced        SHA-NI selected
 *   1         elapsed   0.9 (0.8 - 1.5)    1.0 (1.0 - 1.1)    1.0 (0.5 - 1.3)
 *             CPU       1.0 (0.9 - 1.1)    1.0 (1.0 - 1.1)    1.0 (0.8 - 1.2)
 *   4         elapsed   1.7 (1.3 - 2.1)    1.3 (1.1 - 1.5)    1.2 (1.0 - 2.2)
 *             CPU       1.7 (1.6 - 1.9)    1.4 (1.3 - 1.7)    1.1 (1.0 - 1.5)
 *   16        elapsed   1.9 (1.1 - 3.2)    1.3 (1.2 - 1.7)    0.9 (0.6 - 2.1)
 *             CPU       1.7 (1.5 - 1.9)    1.4 (1.3 - 1.6)    1.0 (0.9 - 1.1)
 *
 * The benefit is smaller for writes, and for plugins with a latency of a
 * millisecond.  Requests of 16 and 64 KiB do not benefit, with one exception:
 * with AVX-512 and 16 requests in flight, the wait saves 8 % of the CPU time.
 * With AVX2, which the library does not select on this CPU, the same requests
 * take a seventh more.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "blkhash.h"
#include "common/clock.h"
#include "common/util.h"
#include "common/zero.h"
#include "construction/leaf.h"
#include "digest/digest.h"
#include "lanes/lanes.h"

/* ---- Hash a group of blocks, in the calling thread ---- */

/* The state of a thread while it hashes.  Hashers are kept for reuse, so their
 * number is the maximum number of threads that hashed at the same time.
 */
struct hasher {
  struct hasher *next;
  struct digest_ctx *ctx;
};

struct hashers {
  const struct digest *digest;
  struct lanes *lanes;          /* NULL: blocks are hashed one by one */
  size_t block_size;            /* bytes */

  pthread_mutex_t lock;         /* protects the field below */
  struct hasher *idle;
};

static struct hasher *
new_hasher (const struct hashers *hashers)
{
  struct hasher *hasher = malloc (sizeof *hasher);

  if (!hasher)
    return NULL;
  hasher->ctx = digest_ctx_create (hashers->digest);
  if (!hasher->ctx) {
    free (hasher);
    return NULL;
  }
  return hasher;
}

static struct hasher *
borrow_hasher (struct hashers *hashers)
{
  {
    SCOPED_LOCK (&hashers->lock);
    struct hasher *hasher = hashers->idle;

    if (hasher) {
      hashers->idle = hasher->next;
      return hasher;
    }
  }
  return new_hasher (hashers);
}

static void
return_hasher (struct hashers *hashers, struct hasher *hasher)
{
  SCOPED_LOCK (&hashers->lock);

  hasher->next = hashers->idle;
  hashers->idle = hasher;
}

/* Hash COUNT full blocks. */
static int
hash_full (const struct hashers *hashers, struct digest_ctx *ctx,
           struct leaf_block *const *blocks, size_t count)
{
  const size_t len = hashers->block_size;
  const void *data[LEAF_GROUP];
  unsigned char *md[LEAF_GROUP];
  size_t i, n;
  int err = 0;

  for (i = 0; i < count; i++) {
    data[i] = blocks[i]->data;
    md[i] = blocks[i]->md;
  }
  for (i = 0; i < count && err == 0; i += n) {
    n = hashers->lanes ? lanes_hash (hashers->lanes, data + i, len, md + i,
                                     count - i) : 0;
    if (n == 0) {
      err = digest_message (ctx, data[i], len, md[i]);
      n = 1;
    }
  }
  if (hashers->lanes)
    lanes_add (hashers->lanes, count * len);
  return err;
}

/* Hash COUNT blocks, at most LEAF_GROUP, and store each leaf in the MD of its
 * block.  Full blocks are hashed in lanes.  A short block, the last of an
 * image, is hashed alone.  Returns 0, ENOMEM or EIO.
 */
static int
hashers_hash (struct hashers *hashers, struct leaf_block *const *blocks,
              size_t count)
{
  struct hasher *hasher = borrow_hasher (hashers);
  struct leaf_block *full[LEAF_GROUP];
  size_t i, n = 0;
  int err = 0;

  if (!hasher)
    return ENOMEM;
  for (i = 0; i < count && err == 0; i++) {
    if (blocks[i]->len == hashers->block_size)
      full[n++] = blocks[i];
    else
      err = digest_message (hasher->ctx, blocks[i]->data, blocks[i]->len,
                            blocks[i]->md);
  }
  if (err == 0)
    err = hash_full (hashers, hasher->ctx, full, n);
  return_hasher (hashers, hasher);
  return err;
}

/* The same for a block of LEN zero bytes, whose leaf is stored in MD. */
static int
hashers_zeros (struct hashers *hashers, size_t len, unsigned char *md)
{
  static const unsigned char zeros[4096];
  struct hasher *hasher = borrow_hasher (hashers);
  int err;

  if (!hasher)
    return ENOMEM;
  err = digest_init (hasher->ctx);
  while (len > 0 && err == 0) {
    size_t n = MIN (len, sizeof zeros);

    err = digest_update (hasher->ctx, zeros, n);
    len -= n;
  }
  if (err == 0)
    err = digest_final (hasher->ctx, md);
  return_hasher (hashers, hasher);
  return err;
}

static int
update_single (void *ctx, const void *data, size_t len)
{
  return digest_update (ctx, data, len);
}

/* Measure the speed of the kernels if a measurement is due, at most twice per
 * process and digest.  Called after each group, when no thread waits for the
 * caller: usually it returns immediately, but a measurement takes some hundred
 * microseconds.  If there is no memory for a hasher, the measurement remains
 * due, and the next call retries it.  Returns 0, or EIO if a kernel computes
 * wrong results.  Leaves computed before the error are correct.
 */
static int
hashers_measure (struct hashers *hashers)
{
  struct hasher *hasher;
  int err = 0;

  if (!hashers->lanes || !lanes_measure_is_due (hashers->lanes))
    return 0;
  hasher = borrow_hasher (hashers);
  if (!hasher)
    return 0;
  if (digest_init (hasher->ctx) == 0) {
    struct single_hash single = {
      .update = update_single, .opaque = hasher->ctx
    };

    err = lanes_measure (hashers->lanes, &single);
  }
  return_hasher (hashers, hasher);
  return err;
}

/* If a kernel fails its self-test, no hashers are created; lanes.c explains why
 * the kernel is not just skipped.
 */
static int
create_lanes (struct hashers *hashers)
{
  if (!digest_is_replaceable (hashers->digest))
    return 0;
  hashers->lanes = lanes_create (digest_name (hashers->digest));
  if (!hashers->lanes)
    return errno == ENOTSUP ? 0 : errno;
  return 0;
}

static void
hashers_free (struct hashers *hashers)
{
  struct hasher *hasher;

  if (!hashers)
    return;
  while ((hasher = hashers->idle)) {
    hashers->idle = hasher->next;
    digest_ctx_free (hasher->ctx);
    free (hasher);
  }
  lanes_free (hashers->lanes);
  pthread_mutex_destroy (&hashers->lock);
  free (hashers);
}

/* DIGEST must outlive the hashers.  Returns NULL with errno set on failure. */
static struct hashers *
hashers_create (const struct digest *digest, uint32_t block_size)
{
  struct hashers *hashers = calloc (1, sizeof *hashers);
  int err;

  if (!hashers)
    return NULL;
  hashers->digest = digest;
  hashers->block_size = block_size;
  pthread_mutex_init (&hashers->lock, NULL);
  err = create_lanes (hashers);
  if (err) {
    hashers_free (hashers);
    errno = err;
    return NULL;
  }
  return hashers;
}

/* ---- Groups of the blocks of several threads ---- */

/* The maximum time that a batch waits for others, in nanoseconds.  In this time
 * a copy at 1 GB/s transfers 16 blocks of 64 KiB.  A slower copy needs little
 * CPU time in any case.
 */
#define GATHER_TIMEOUT 1000000
#define MAX_BACKOFF 1023        /* maximum number of batches that skip the wait
                                 * after a timeout */

/* The blocks of one call of leaf_batch, on the stack of the calling thread. */
struct batch {
  struct batch *next;
  struct leaf_block *next_block;
  size_t untaken;               /* blocks with data that are not in a group
                                 * yet */
  size_t left;                  /* blocks with data that have no leaf yet */
  int error;
  bool hashing;                 /* its thread is hashing a group */
  pthread_cond_t changed;       /* LEFT is 0, or its thread can hash a group */
};

struct leaf_engine {
  struct hashers *hashers;
  unsigned cpus;
  unsigned char zero_md[BLKHASH_MAX_MD_SIZE];

  bool gather;                  /* batches may wait for others; set once */

  pthread_mutex_t lock;         /* protects the fields below, and all batches */
  unsigned hashing;             /* threads that are hashing a group */
  unsigned backoff;             /* batches that skip the wait after a timeout */
  unsigned backoff_left;        /* batches that still have to skip it */
  struct batch *queue, **queue_tail; /* batches with untaken blocks */
  size_t queued;                /* untaken blocks */
};

struct leaf_group {
  size_t count;
  struct batch *batch[LEAF_GROUP]; /* batch of each block */
  struct leaf_block *block[LEAF_GROUP];
};

/* Is there a batch whose thread waits, for a CPU or for other batches? */
static bool
others_wait_locked (const struct leaf_engine *engine, const struct batch *owner)
{
  const struct batch *batch = engine->queue;

  while (batch && (batch->hashing || batch == owner))
    batch = batch->next;
  return batch != NULL;
}

static void
unqueue_locked (struct leaf_engine *engine, struct batch *batch)
{
  struct batch **link = &engine->queue;

  while (*link != batch)
    link = &(*link)->next;
  *link = batch->next;
  if (!*link)
    engine->queue_tail = link;
}

/* Take the next block of BATCH.  The batch is removed from the queue when its
 * last untaken block is taken, and not later: the batch is on the stack of its
 * thread, which can return as soon as all blocks of the batch are hashed.
 */
static void
take_block_locked (struct leaf_engine *engine, struct batch *batch,
                   struct leaf_group *group)
{
  while (batch->next_block->zero)
    batch->next_block++;
  group->batch[group->count] = batch;
  group->block[group->count++] = batch->next_block++;
  engine->queued--;
  if (--batch->untaken == 0)
    unqueue_locked (engine, batch);
}

/* Take the oldest blocks.  But if no other thread waits, take only those of
 * OWNER: a thread whose last blocks were taken would have to wait for them,
 * which takes longer than to hash them if they are small.
 */
static void
take_group_locked (struct leaf_engine *engine, struct batch *owner,
                   struct leaf_group *group)
{
  bool alone = !others_wait_locked (engine, owner);

  group->count = 0;
  while (group->count < LEAF_GROUP && (alone ? owner->untaken > 0
                                             : engine->queue != NULL))
    take_block_locked (engine, alone ? owner : engine->queue, group);
}

/* Wake the thread of the oldest waiting batch, if there is a free CPU. */
static void
wake_next_locked (struct leaf_engine *engine)
{
  struct batch *batch = engine->queue;

  if (engine->hashing >= engine->cpus)
    return;
  while (batch && batch->hashing)
    batch = batch->next;
  if (batch)
    pthread_cond_signal (&batch->changed);
}

/* Returns the number of blocks in a full group: larger groups are hardly faster
 * per block, so waiting for more blocks has little benefit.  Returns 0 if the
 * digest has no kernels, because then single blocks are as fast as groups.
 * hashers_measure can change the number.
 */
static size_t
full_group (const struct leaf_engine *engine)
{
  const struct lanes *lanes = engine->hashers->lanes;

  return lanes ? lanes_full_group (lanes) : 0;
}

/* Returns true if blocks of several batches filled the lanes.  Otherwise the
 * wait was useless for all batches that have blocks in the group.
 */
static bool
is_gathered (const struct leaf_engine *engine, const struct leaf_group *group)
{
  return group->count >= full_group (engine) &&
    group->batch[0] != group->batch[group->count - 1];
}

/* Take a group and hash it.  Called in the thread of OWNER. */
static void
do_group_locked (struct leaf_engine *engine, struct batch *owner)
{
  struct leaf_group group;
  size_t i;
  int err;

  take_group_locked (engine, owner, &group);
  if (is_gathered (engine, &group))
    engine->backoff = 0;
  owner->hashing = true;
  engine->hashing++;
  wake_next_locked (engine);
  pthread_mutex_unlock (&engine->lock);
  err = hashers_hash (engine->hashers, group.block, group.count);
  pthread_mutex_lock (&engine->lock);
  engine->hashing--;
  owner->hashing = false;
  wake_next_locked (engine);

  for (i = 0; i < group.count; i++) {
    struct batch *batch = group.batch[i];

    if (err)
      batch->error = err;
    if (--batch->left == 0)
      pthread_cond_signal (&batch->changed);
  }
}

/* Exponential backoff after a wait that did not fill the lanes, so that a
 * client with few requests in flight rarely waits.
 */
static void
back_off_locked (struct leaf_engine *engine)
{
  engine->backoff =
    engine->backoff < MAX_BACKOFF ? 2 * engine->backoff + 1 : MAX_BACKOFF;
  engine->backoff_left = engine->backoff;
}

/* Wait for other batches to fill the lanes, unless backing off. */
static void
gather_locked (struct leaf_engine *engine, struct batch *batch)
{
  uint64_t until;
  int r = 0;

  if (!engine->gather || engine->queued >= full_group (engine))
    return;
  if (engine->backoff_left > 0) {
    engine->backoff_left--;
    return;
  }
  until = clock_ns () + GATHER_TIMEOUT;
  while (batch->untaken > 0 && engine->queued < full_group (engine) && r == 0)
    r = clock_cond_wait (&batch->changed, &engine->lock, until);
  if (batch->untaken > 0 && engine->queued < full_group (engine))
    back_off_locked (engine);
}

static void
do_batch_locked (struct leaf_engine *engine, struct batch *batch)
{
  gather_locked (engine, batch);
  while (batch->left > 0) {
    if (batch->untaken > 0 && engine->hashing < engine->cpus)
      do_group_locked (engine, batch);
    else if (batch->left > 0)
      pthread_cond_wait (&batch->changed, &engine->lock);
  }
}

/* Mark the blocks that are all zero.  Returns the number of the other blocks.
 */
static size_t
find_zeros (struct leaf_block *blocks, size_t count)
{
  size_t i, data = 0;

  for (i = 0; i < count; i++) {
    blocks[i].zero = is_zero (blocks[i].data, blocks[i].len);
    data += !blocks[i].zero;
  }
  return data;
}

int
leaf_batch (struct leaf_engine *engine,
            struct leaf_block *blocks, size_t count)
{
  size_t data = find_zeros (blocks, count);
  struct batch batch = {
    .next_block = blocks, .untaken = data, .left = data
  };
  int err;

  if (data == 0)
    return 0;

  clock_cond_init (&batch.changed);
  {
    SCOPED_LOCK (&engine->lock);

    *engine->queue_tail = &batch;
    engine->queue_tail = &batch.next;
    engine->queued += data;
    do_batch_locked (engine, &batch);
  }
  pthread_cond_destroy (&batch.changed);
  err = hashers_measure (engine->hashers);
  return batch.error ? batch.error : err;
}

size_t
leaf_best_count (const struct leaf_engine *engine)
{
  size_t n = full_group (engine);

  return n > 0 ? LEAF_GROUP / n * n : LEAF_GROUP;
}

void
leaf_enable_gather (struct leaf_engine *engine)
{
  engine->gather = full_group (engine) > 0;
}

const unsigned char *
leaf_zero_md (const struct leaf_engine *engine)
{
  return engine->zero_md;
}

int
leaf_hash_zeros (struct leaf_engine *engine, size_t len, unsigned char *md)
{
  return hashers_zeros (engine->hashers, len, md);
}

void
leaf_engine_free (struct leaf_engine *engine)
{
  if (!engine)
    return;
  hashers_free (engine->hashers);
  pthread_mutex_destroy (&engine->lock);
  free (engine);
}

struct leaf_engine *
leaf_engine_create (const struct digest *digest, uint32_t block_size)
{
  struct leaf_engine *engine = calloc (1, sizeof *engine);
  long cpus = sysconf (_SC_NPROCESSORS_ONLN);
  int err;

  if (!engine)
    return NULL;
  engine->cpus = cpus > 0 ? cpus : 1;
  engine->queue_tail = &engine->queue;
  pthread_mutex_init (&engine->lock, NULL);

  engine->hashers = hashers_create (digest, block_size);
  err = engine->hashers ? leaf_hash_zeros (engine, block_size, engine->zero_md)
                        : errno;
  if (err) {
    leaf_engine_free (engine);
    errno = err;
    return NULL;
  }
  return engine;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A batch of blocks in, their leaves out.
 *
 * SHA-256 of many blocks at once is ours, see sha256-lanes.h; all else is done
 * one block after the other by whoever the digest comes from.
 *
 * Batches of many threads are hashed in groups: a thread that finds a CPU free
 * hashes what all waiting threads brought, from their own buffers, oldest
 * first, and the others wait for it.  Not more threads hash than there are
 * CPUs.  With leaf_gather a batch that does not fill the lanes waits a little for
 * others: so groups are full although each thread brings little.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "blkhash.h"
#include "cleanup.h"
#include "digest.h"
#include "leaf.h"
#include "sha256-lanes.h"
#include "zero.h"

/* The longest that a batch waits for others, in nanoseconds.  A copy at 1 GB/s
 * brings 16 blocks of 64 KiB in that time; of a slower one little is to be
 * hashed.
 */
#define PATIENCE 1000000
#define MAX_AT_ONCE 1023        /* batches that do not wait after others did */

/* What one thread hashes with; there are as many as ever hashed at once. */
struct hasher {
  struct hasher *next;
  struct digest_ctx *ctx;
};

/* What one thread brought, on its stack. */
struct batch {
  struct batch *next;
  struct leaf_block *next_block;
  size_t untaken;               /* blocks with data that are in no group yet */
  size_t left;                  /* those that have no leaf yet */
  int error;
  bool hashing;                 /* its thread hashes a group, of any batches */
  pthread_cond_t changed;       /* nothing is left, or it is the next to hash */
};

struct leaf_engine {
  const struct digest *digest;
  struct sha256_lanes *lanes;   /* NULL: one block after the other */
  size_t block_size;            /* bytes */
  size_t enough;                /* blocks that are worth no waiting for more */
  unsigned cpus;
  unsigned char zero_md[BLKHASH_MAX_MD_SIZE];

  pthread_mutex_t lock;         /* protects what follows, and batches */
  unsigned hashing;             /* threads that hash a group */
  bool gather;                  /* batches may wait for others ... */
  unsigned in_vain;             /* ... but after so many that did so in vain, */
  unsigned at_once;             /* so many do not. */
  struct batch *queue, **queue_tail; /* batches that have blocks to take */
  size_t queued;                /* these blocks */
  struct hasher *idle;
};

struct group {
  size_t count;
  struct {
    struct batch *batch;
    struct leaf_block *block;
  } item[LEAF_GROUP];
};

static struct hasher *
new_hasher (const struct leaf_engine *engine)
{
  struct hasher *hasher = malloc (sizeof *hasher);

  if (!hasher)
    return NULL;
  hasher->ctx = digest_ctx_create (engine->digest);
  if (!hasher->ctx) {
    free (hasher);
    return NULL;
  }
  return hasher;
}

static struct hasher *
borrow_hasher (struct leaf_engine *engine)
{
  {
    SCOPED_LOCK (&engine->lock);
    struct hasher *hasher = engine->idle;

    if (hasher) {
      engine->idle = hasher->next;
      return hasher;
    }
  }
  return new_hasher (engine);
}

static void
return_hasher (struct leaf_engine *engine, struct hasher *hasher)
{
  SCOPED_LOCK (&engine->lock);

  hasher->next = engine->idle;
  engine->idle = hasher;
}

static int
hash_one (struct digest_ctx *ctx, const struct leaf_block *block)
{
  int err;

  err = digest_init (ctx);
  if (err == 0)
    err = digest_update (ctx, block->data, block->len);
  if (err == 0)
    err = digest_final (ctx, block->md);
  return err;
}

/* COUNT blocks of the same length. */
static int
hash_equal (const struct leaf_engine *engine, struct digest_ctx *ctx,
            struct leaf_block *const *blocks, size_t count)
{
  const void *data[LEAF_GROUP];
  unsigned char *md[LEAF_GROUP];
  size_t i, n;
  int err = 0;

  for (i = 0; i < count; i++) {
    data[i] = blocks[i]->data;
    md[i] = blocks[i]->md;
  }
  for (i = 0; i < count && err == 0; i += n) {
    n = engine->lanes ? sha256_lanes_next (engine->lanes, count - i) : 1;
    if (n > 1)
      sha256_lanes_hash (engine->lanes, data + i, blocks[i]->len, md + i, n);
    else
      err = hash_one (ctx, blocks[i]);
  }
  return err;
}

/* Only the last block of an image is shorter than the others.  Without the
 * lock.
 */
static int
hash_group (struct leaf_engine *engine, const struct group *group)
{
  struct hasher *hasher = borrow_hasher (engine);
  struct leaf_block *full[LEAF_GROUP];
  size_t i, n = 0;
  int err = 0;

  if (!hasher)
    return ENOMEM;
  for (i = 0; i < group->count && err == 0; i++) {
    struct leaf_block *block = group->item[i].block;

    if (block->len == engine->block_size)
      full[n++] = block;
    else
      err = hash_one (hasher->ctx, block);
  }
  if (err == 0)
    err = hash_equal (engine, hasher->ctx, full, n);
  return_hasher (engine, hasher);
  return err;
}

/* A batch leaves the queue with its last block: it may be gone soon after. */
static void
take_group_locked (struct leaf_engine *engine, struct group *group)
{
  for (group->count = 0; group->count < LEAF_GROUP && engine->queue;
       group->count++) {
    struct batch *batch = engine->queue;

    while (batch->next_block->zero)
      batch->next_block++;
    group->item[group->count].batch = batch;
    group->item[group->count].block = batch->next_block++;
    engine->queued--;
    if (--batch->untaken == 0) {
      engine->queue = batch->next;
      if (!engine->queue)
        engine->queue_tail = &engine->queue;
    }
  }
}

/* Whoever brought the oldest blocks and waits can hash, if there is a CPU. */
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

/* In the thread of OWNER. */
static void
do_group_locked (struct leaf_engine *engine, struct batch *owner)
{
  struct group group;
  size_t i;
  int err;

  take_group_locked (engine, &group);
  owner->hashing = true;
  engine->hashing++;
  wake_next_locked (engine);
  pthread_mutex_unlock (&engine->lock);
  err = hash_group (engine, &group);
  pthread_mutex_lock (&engine->lock);
  engine->hashing--;
  owner->hashing = false;
  wake_next_locked (engine);

  for (i = 0; i < group.count; i++) {
    struct batch *batch = group.item[i].batch;

    if (err)
      batch->error = err;
    if (--batch->left == 0)
      pthread_cond_signal (&batch->changed);
  }
}

#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK

static void
init_cond (pthread_cond_t *cond)
{
  pthread_condattr_t attr;

  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (cond, &attr);
  pthread_condattr_destroy (&attr);
}

/* What did not fill the lanes in that time will not next time: try less
 * and less often, so that a client with few requests in flight does not wait.
 */
static void
waited_in_vain_locked (struct leaf_engine *engine)
{
  engine->in_vain = engine->in_vain < MAX_AT_ONCE ? 2 * engine->in_vain + 1
                                                  : MAX_AT_ONCE;
  engine->at_once = engine->in_vain;
}

/* Wait for others if that is worth it. */
static void
gather_locked (struct leaf_engine *engine, struct batch *batch)
{
  struct timespec t;
  int r = 0;

  if (!engine->gather || engine->queued >= engine->enough)
    return;
  if (engine->at_once > 0) {
    engine->at_once--;
    return;
  }
  clock_gettime (CLOCK_MONOTONIC, &t);
  t.tv_nsec += PATIENCE;
  if (t.tv_nsec >= 1000000000) {
    t.tv_nsec -= 1000000000;
    t.tv_sec++;
  }
  while (batch->untaken > 0 && engine->queued < engine->enough && r == 0)
    r = pthread_cond_timedwait (&batch->changed, &engine->lock, &t);
  if (batch->untaken == 0 || engine->queued >= engine->enough)
    engine->in_vain = 0;
  else
    waited_in_vain_locked (engine);
}

#else /* a clock that is set back could make us wait for hours */

static void
init_cond (pthread_cond_t *cond)
{
  pthread_cond_init (cond, NULL);
}

static void
gather_locked (struct leaf_engine *engine, struct batch *batch)
{
  (void) engine; (void) batch;
}

#endif

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

/* Returns how many blocks are not. */
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

  if (data == 0)
    return 0;

  init_cond (&batch.changed);
  {
    SCOPED_LOCK (&engine->lock);

    *engine->queue_tail = &batch;
    engine->queue_tail = &batch.next;
    engine->queued += data;
    do_batch_locked (engine, &batch);
  }
  pthread_cond_destroy (&batch.changed);
  return batch.error;
}

void
leaf_gather (struct leaf_engine *engine)
{
  engine->gather = engine->enough > 0;
}

const unsigned char *
leaf_zero (const struct leaf_engine *engine)
{
  return engine->zero_md;
}

int
leaf_zeros (struct leaf_engine *engine, size_t len, unsigned char *md)
{
  static const unsigned char zeros[4096];
  struct hasher *hasher = borrow_hasher (engine);
  int err;

  if (!hasher)
    return ENOMEM;
  err = digest_init (hasher->ctx);
  while (len > 0 && err == 0) {
    size_t n = len < sizeof zeros ? len : sizeof zeros;

    err = digest_update (hasher->ctx, zeros, n);
    len -= n;
  }
  if (err == 0)
    err = digest_final (hasher->ctx, md);
  return_hasher (engine, hasher);
  return err;
}

/* A kernel that fails its test is not left out in silence: what else can this
 * CPU not do?
 */
static int
create_lanes (struct leaf_engine *engine)
{
  if (!digest_is_any_sha256 (engine->digest))
    return 0;
  engine->lanes = sha256_lanes_create ();
  if (!engine->lanes)
    return errno == ENOTSUP ? 0 : errno;
  engine->enough = sha256_lanes_enough (engine->lanes);
  return 0;
}

struct leaf_engine *
leaf_engine_create (const struct digest *digest, uint32_t block_size)
{
  struct leaf_engine *engine = calloc (1, sizeof *engine);
  long cpus = sysconf (_SC_NPROCESSORS_ONLN);
  int err;

  if (!engine)
    return NULL;
  engine->digest = digest;
  engine->block_size = block_size;
  engine->cpus = cpus > 0 ? cpus : 1;
  engine->queue_tail = &engine->queue;
  pthread_mutex_init (&engine->lock, NULL);

  err = create_lanes (engine);
  if (err == 0)
    err = leaf_zeros (engine, block_size, engine->zero_md);
  if (err) {
    leaf_engine_free (engine);
    errno = err;
    return NULL;
  }
  return engine;
}

void
leaf_engine_free (struct leaf_engine *engine)
{
  struct hasher *hasher;

  if (!engine)
    return;
  while ((hasher = engine->idle)) {
    engine->idle = hasher->next;
    digest_ctx_free (hasher->ctx);
    free (hasher);
  }
  sha256_lanes_free (engine->lanes);
  pthread_mutex_destroy (&engine->lock);
  free (engine);
}

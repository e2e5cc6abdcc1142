/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over the missing ranges of an export.  See pass.h.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/clock.h"
#include "../lib/common/strata.h"
#include "../lib/common/util.h"
#include "blkhash.h"
#include "blkhash/conn.h"
#include "blkhash/export.h"
#include "blkhash/observe.h"
#include "blkhash/params.h"
#include "blkhash/pass.h"

#define EXTENTS_SIZE (1u << 30) /* bytes to query at once */

bool
pass_is_last_locked (const struct pass *p)
{
  exports_assert_locked ();
  return p->export->conns == 0 && p->export->joins == p->joins;
}

int
pass_why_stop (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  if (p->export->broken || disk_is_mixed (p->export->disk) ||
      (!p->own_only && !pass_is_last_locked (p)))
    return PASS_CANCELED;
  return conn_is_stale_locked (p->conn) ? PASS_STALE : 0;
}

uint64_t
pass_missing (struct blkhash_leaves *leaves)
{
  uint64_t offset = 0, start, len, sum = 0;

  while (blkhash_leaves_next_missing (leaves, offset, &start, &len) == 0) {
    sum += len;
    offset = start + len;
  }
  return sum;
}

/* ---- Extents ---- */

/* Query the extents of LEN bytes at OFFSET, and observe them.  Returns the end
 * of the plugin's reply, which can be before OFFSET + LEN; or OFFSET if there
 * is no reply.  The part of a reply after OFFSET + LEN is ignored.
 */
static uint64_t
query_extents (const struct pass *p, uint64_t offset, uint32_t len)
{
  struct nbdkit_extents *extents = nbdkit_extents_new (offset, p->export->size);
  struct request request;
  struct nbdkit_extent last;
  uint64_t end = offset;
  size_t count;
  int err;

  if (!extents)
    return offset;
  observe_begin (p->conn, &request, offset, len);
  if (p->next->extents (p->next, len, offset, 0, extents, &err) == 0) {
    observe_extents (p->conn, &request, extents, false);
    count = nbdkit_extents_count (extents);
    if (count > 0) {
      last = nbdkit_get_extent (extents, count - 1);
      end = MIN (last.offset + last.length, offset + len);
    }
  }
  observe_end (p->conn, &request, 0);
  nbdkit_extents_free (extents);
  return end;
}

void
pass_query_extents (const struct pass *p)
{
  uint64_t unit = blkhash_opts_get_block_size (params.hash);
  uint64_t offset = 0, start, len, begin, end;

  if (p->next->can_extents (p->next) != 1)
    return;
  while (pass_why_stop (p) == 0 &&
         blkhash_leaves_next_missing (p->leaves, offset, &start, &len) == 0) {
    /* Query whole blocks, because some plugins fail for unaligned ranges.  But
     * if the last reply ended within a block, begin with the rest of the block.
     */
    begin = MAX (offset, ROUND_DOWN (start, unit));
    end = ROUND_UP (start + MIN (len, EXTENTS_SIZE), unit);
    end = MIN (end, p->export->size);
    offset = query_extents (p, begin, end - begin);
    if (offset == begin)
      return;
  }
}

/* ---- Ranges to read ---- */

/* Clip a missing range to the first part that this pass must read.  Returns
 * false if there is no such part.
 */
static bool
clip (const struct pass *p, uint64_t *start, uint64_t *len)
{
  uint64_t offset, end;
  SCOPED_LOCK (&exports_lock);

  if (!p->own_only)
    return true;
  for (offset = *start; offset < *start + *len; offset = end)
    if (visibility_own (&p->conn->unflushed, offset, *start + *len, &end)) {
      *start = offset;
      *len = end - offset;
      return true;
    }
  return false;
}

enum pass_sample
pass_choose_sample (struct pass *p, struct strata *sample)
{
  uint32_t block_size = blkhash_opts_get_block_size (params.hash);
  uint64_t unit = MAX (block_size, STRATA_READ_UNIT), seed;
  uint64_t units = DIV_ROUND_UP (p->export->size, unit);

  if (!p->export->baseline)
    return SAMPLE_NONE;
  if (getentropy (&seed, sizeof seed) == -1)
    return SAMPLE_FAILED;
  strata_init (sample, units, params.audit, seed);
  p->sample = sample;
  p->sample_unit = unit;
  return sample->chosen > 0 ? SAMPLE_CHOSEN : SAMPLE_NONE;
}

/* Find the next unit of the sample that begins at OFFSET or after it. */
static bool
next_of_sample (const struct pass *p, uint64_t offset,
                uint64_t *start, uint64_t *len)
{
  uint64_t unit = p->sample_unit, count;
  uint64_t n = DIV_ROUND_UP (offset, unit);

  for (; n < p->sample->units; n += count)
    if (strata_at (p->sample, n, &count)) {
      *start = n * unit;
      *len = MIN (unit, p->export->size - *start);
      return true;
    }
  return false;
}

/* Set *START and *LEN to the next range that must be read, at OFFSET or after
 * it, in bytes.  Returns false if there is none.
 */
static bool
next_range (const struct pass *p, uint64_t offset,
            uint64_t *start, uint64_t *len)
{
  if (p->sample)
    return next_of_sample (p, offset, start, len);
  while (blkhash_leaves_next_missing (p->leaves, offset, start, len) == 0) {
    if (clip (p, start, len))
      return true;
    offset = *start + *len;
  }
  return false;
}

bool
pass_is_hidden (const struct pass *p)
{
  struct visibility *v = &p->export->disk->visibility;
  uint64_t start, len, offset, end;

  for (offset = 0; next_range (p, offset, &start, &len);
       offset = start + len) {
    SCOPED_LOCK (&exports_lock);

    for (offset = start; offset < start + len; offset = end)
      if (visibility_hidden (v, &p->conn->unflushed, offset, start + len,
                             &end))
        return true;
  }
  return false;
}

/* ---- Reading ---- */

#define READ_SIZE (1024 * 1024) /* bytes */
#define PROGRESS_STEP (UINT64_C (1) << 30) /* bytes between debug messages */
#define LONG_WAIT 1000000       /* nanoseconds */
#define PASS_MAX_THREADS 15     /* our own threads, of all passes */

/* While a read takes long, other threads can read the rest of its first or last
 * block.  Such a block is partial, and uses memory, until the slow read ends.
 * reserve_thread limits the number of threads so that these blocks use at most
 * MAX_PARTIAL.  This is half of the memory for partial blocks (see export.c):
 * requests of clients need the other half.
 */
#define MAX_PARTIAL (32 * 1024 * 1024) /* bytes */

static bool is_parallel;        /* set once */
static unsigned all_threads;    /* our own, of all passes; atomic */

struct reading {
  const struct pass *pass;
  uint64_t missing;             /* number of missing bytes, for messages */
  uint64_t unit, max_range;     /* alignment, maximum size of a range, bytes */
  uint64_t max_request;         /* maximum size of a request, bytes */

  pthread_mutex_t lock;         /* protects the fields below */
  uint64_t offset;              /* start of the search for the next range */
  bool ended;                   /* no range is left, or ERR is set */
  int err;                      /* the first error, as returned by pass_read */
  struct byte_range unreadable; /* whose read ended with ERR, or empty */
  struct byte_range failed[PASS_MAX_THREADS + 1]; /* nbdkit's thread
                                 * repeats these */
  unsigned nr_failed;
  bool alone;                   /* a read failed: our threads end, and nbdkit's
                                 * thread continues alone */
  uint64_t done, reported;      /* bytes read so far, and at the last message */
  pthread_t threads[PASS_MAX_THREADS]; /* of our own */
  unsigned nr_threads;          /* how many of them are not joined yet */
};

void
pass_read_set_parallel (bool parallel)
{
  is_parallel = parallel;
}

/* Find the next range to read.  Returns false at the end. */
static bool
next_read_locked (struct reading *r, struct byte_range *range)
{
  uint64_t start, len, end;

  if (!r->ended)
    r->ended = !next_range (r->pass, r->offset, &start, &len);
  if (r->ended)
    return false;
  end = ROUND_UP (start + MIN (len, r->max_range), r->unit);
  range->start = ROUND_DOWN (start, r->unit);
  range->end = MIN (MIN (end, r->pass->export->size),
                    range->start + r->max_range);
  r->offset = range->end;
  return true;
}

/* Claim a range to read.  Returns false if there is none for this thread. */
static bool
claim_range (struct reading *r, struct byte_range *range)
{
  SCOPED_LOCK (&r->lock);

  if (r->err || (r->alone && r->nr_threads > 0))
    return false;
  if (r->nr_failed > 0) {
    *range = r->failed[--r->nr_failed];
    return true;
  }
  return next_read_locked (r, range);
}

/* The plugin failed to read RANGE.  nbdkit's thread will read it again, alone.
 * Returns false if this thread is already alone: then the error counts.
 */
static bool
requeue_range (struct reading *r, struct byte_range range)
{
  SCOPED_LOCK (&r->lock);

  if (r->nr_threads == 0)
    return false;
  r->failed[r->nr_failed++] = range;
  r->alone = true;
  return true;
}

/* Determine the minimum and the maximum size of a read of the plugin. */
static void
find_request_sizes (nbdkit_next *next, uint64_t *unit, uint64_t *max)
{
  uint32_t minimum, preferred, maximum;

  *unit = 1;
  *max = READ_SIZE;
  if (next->block_size (next, &minimum, &preferred, &maximum) == -1)
    return;
  if (minimum > 0 && minimum <= READ_SIZE)
    *unit = minimum;
  if (maximum >= *unit && maximum < *max)
    *max = maximum;
  *max -= *max % *unit;
}

/* If the pass audits a sample (see pass.h), whole blocks are compared.  So each
 * unit of the sample must be one range, even if that takes several requests.
 */
static void
find_read_sizes (struct reading *r)
{
  find_request_sizes (r->pass->next, &r->unit, &r->max_request);
  r->max_range = r->max_request;
  if (r->pass->sample && r->max_range < r->pass->sample_unit)
    r->max_range = r->pass->sample_unit;
}

/* Returns the number of times that this thread waited, or -1 if unknown.  A
 * waiting thread gives up its CPU; a preempted thread does not count as
 * waiting.
 */
static long
count_waits (void)
{
#ifdef RUSAGE_THREAD
  struct rusage usage;

  if (getrusage (RUSAGE_THREAD, &usage) == 0)
    return usage.ru_nvcsw;
#endif
  return -1;
}

/* Returns 0, or an errno value. */
static int
read_in_requests (const struct reading *r, unsigned char *buf,
                  struct byte_range range)
{
  nbdkit_next *next = r->pass->next;
  uint64_t offset, len;
  int err = EIO;

  for (offset = range.start; offset < range.end; offset += len) {
    len = MIN (range.end - offset, r->max_request);
    if (next->pread (next, buf + (offset - range.start), len, offset, 0,
                     &err) == -1)
      return err ? err : EIO;
  }
  return 0;
}

/* Read and observe a range.  Returns 0, an errno value, or PASS_STALE if a read
 * of a sample would prove nothing.  *WAITED is whether the plugin waited long.
 */
static int
read_range (const struct reading *r, void *buf, struct byte_range range,
            bool *waited)
{
  struct conn *conn = r->pass->conn;
  struct request request;
  uint64_t begin;
  long waits;
  int err;

  observe_begin (conn, &request, range.start, range.end - range.start);
  if (r->pass->sample &&
      (request.ignored || request.unproven < request.unproven_end)) {
    observe_end (conn, &request, 0);
    return PASS_STALE;
  }
  begin = clock_ns ();
  waits = count_waits ();
  err = read_in_requests (r, buf, range);
  *waited = clock_ns () - begin >= LONG_WAIT &&
    (waits == -1 || count_waits () > waits);
  if (err == 0)
    observe_data (conn, &request, buf);
  observe_end (conn, &request, 0);
  return err;
}

static void
stop (struct reading *r, int err, struct byte_range range)
{
  SCOPED_LOCK (&r->lock);

  r->ended = true;
  if (!r->err) {
    r->err = err;
    r->unreadable = range;
  }
}

/* Count bytes that were read.  Returns the total if a message is due, or 0.  A
 * pass with own_only set (see pass.h) has no messages, because the number of
 * bytes to read is unknown.
 */
static uint64_t
count_bytes (struct reading *r, uint64_t len)
{
  SCOPED_LOCK (&r->lock);

  r->done += len;
  if (r->pass->own_only || r->done - r->reported < PROGRESS_STEP)
    return 0;
  return r->reported = r->done;
}

static void add_thread (struct reading *r);

/* Claim and read ranges until none is left for this thread. */
static void
read_ranges (struct reading *r, void *buf)
{
  struct byte_range range;
  uint64_t done;
  bool waited;
  int err;

  while (claim_range (r, &range)) {
    err = pass_why_stop (r->pass);
    if (!err) {
      err = read_range (r, buf, range, &waited);
      if (err > 0 && requeue_range (r, range))
        return;
    }
    if (err) {
      stop (r, err, range);
      return;
    }
    if (waited && is_parallel)
      add_thread (r);
    done = count_bytes (r, range.end - range.start);
    if (done > 0)
      nbdkit_debug ("blkhash: read %" PRIu64 " of %" PRIu64 " missing bytes "
                    "of '%s'", done, r->missing, r->pass->export->name);
  }
}

/* If there is no memory for a buffer, the other threads read all ranges. */
static void *
run_thread (void *opaque)
{
  struct reading *r = opaque;
  void *buf = malloc (r->max_range);

  if (buf)
    read_ranges (r, buf);
  free (buf);
  return NULL;
}

/* Reserve another thread, within the limit of all passes.  Returns false if the
 * limit is reached.
 */
static bool
reserve_thread (void)
{
  unsigned max = MAX_PARTIAL / blkhash_opts_get_block_size (params.hash) - 1;

  if (__atomic_add_fetch (&all_threads, 1, __ATOMIC_RELAXED) <=
      MIN (max, PASS_MAX_THREADS))
    return true;
  __atomic_sub_fetch (&all_threads, 1, __ATOMIC_RELAXED);
  return false;
}

/* Returns how many threads read now, or 0 if none can be added. */
static unsigned
try_to_add_thread (struct reading *r)
{
  SCOPED_LOCK (&r->lock);

  if (r->ended || r->alone || !reserve_thread ())
    return 0;
  if (pthread_create (&r->threads[r->nr_threads], NULL, run_thread, r) != 0) {
    __atomic_sub_fetch (&all_threads, 1, __ATOMIC_RELAXED);
    return 0;
  }
  return ++r->nr_threads + 1;
}

static void
add_thread (struct reading *r)
{
  unsigned n = try_to_add_thread (r);

  if (n > 0)
    nbdkit_debug ("blkhash: %u reads of '%s' in flight", n,
                  r->pass->export->name);
}

/* Called when ENDED or ALONE is set, so no thread is added any more. */
static void
join_threads (struct reading *r)
{
  unsigned i;

  for (i = 0; i < r->nr_threads; i++) {
    pthread_join (r->threads[i], NULL);
    __atomic_sub_fetch (&all_threads, 1, __ATOMIC_RELAXED);
  }
  r->nr_threads = 0;
}

int
pass_read (const struct pass *p, uint64_t missing, struct byte_range *failed)
{
  struct reading r = { .pass = p, .missing = missing };
  uint64_t start, len;
  void *buf;

  *failed = r.unreadable;
  if (!next_range (p, 0, &start, &len))
    return 0;
  find_read_sizes (&r);
  buf = malloc (r.max_range);
  if (!buf)
    return ENOMEM;
  if (!p->own_only)
    nbdkit_debug ("blkhash: reading %" PRIu64 " missing bytes of '%s'",
                  missing, p->export->name);
  pthread_mutex_init (&r.lock, NULL);
  read_ranges (&r, buf);
  join_threads (&r);
  read_ranges (&r, buf);        /* alone, if a read failed */
  pthread_mutex_destroy (&r.lock);
  free (buf);
  *failed = r.unreadable;
  return r.err;
}

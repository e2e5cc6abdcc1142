/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Executes a script of calls of the public API, for test-random.py, which knows
 * the expected results.  This file contains no expected digest, and links the
 * library like any program.
 *
 * Each operation is one line on stdin; the reply is one line on stdout: "ok"
 * and the result, or "error" and an errno value.  Numbers are decimal.
 *
 *   digests                      names
 *   content SIZE                 the buffer that FROM below refers to
 *   patch FROM LEN               LEN raw bytes for it follow the line
 *   batch THREADS COUNT          COUNT operations follow, which THREADS threads
 *                                execute; the threads start together.  Only
 *                                these operations have replies, in the order of
 *                                their lines.
 *
 *   new DIGEST BLOCK-SIZE STREAMS THREADS QUEUE-DEPTH
 *                                STREAMS can be "linear"
 *   update FROM LEN    zero LEN    aio FROM LEN
 *   reap                         wait until nothing is in flight
 *   final                        the digest
 *   free
 *
 *   leaves-new DIGEST BLOCK-SIZE STREAMS SIZE FLAGS
 *   leaves-data FROM LEN OFFSET  leaves-zero LEN OFFSET
 *   leaves-forget LEN OFFSET
 *   leaves-size SIZE             if SIZE was UINT64_MAX
 *   leaves-missing OFFSET        start and length of all ranges from there on
 *   leaves-count                 data and zero
 *   leaves-fold                  the digest
 *   leaves-free
 *
 * An error that breaks the contract of the API, whatever the script is, ends
 * the program with a message and status 1.
 *
 * Buffers have exactly the length given, start at any alignment, and are
 * overwritten and freed as soon as the API returns them to the caller: a
 * sanitizer, valgrind or a wrong digest shows if the library reads them later.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#define MAX_DIGESTS 256
#define MAX_THREADS 64
#define WAIT_MS 60000

static void __attribute__ ((noreturn, format (printf, 1, 2)))
die (const char *fmt, ...)
{
  va_list args;

  fprintf (stderr, "blkhash-driver: ");
  va_start (args, fmt);
  vfprintf (stderr, fmt, args);
  va_end (args);
  fputc ('\n', stderr);
  exit (1);
}

static void *
xcalloc (size_t count, size_t size)
{
  void *p = calloc (count ? count : 1, size);

  if (!p)
    die ("out of memory");
  return p;
}

/* ---- Operations ------------------------------------------------------ */

/* An operation returns 0 and writes its result to OUT, or returns an errno
 * value.  One thread executes it.
 */
struct op {
  char word[6][24];             /* the name first; "" after the last word */
  FILE *out;
  char *result;                 /* what was written to OUT */
  size_t result_len;
  int err;
};

static uint64_t
number (const struct op *op, int i)
{
  return strtoull (op->word[i], NULL, 10);
}

static void
print_md (struct op *op, const unsigned char *md, unsigned int len)
{
  unsigned int i;

  for (i = 0; i < len; i++)
    fprintf (op->out, "%02x", md[i]);
}

static int
set_construction (struct blkhash_opts *opts, const struct op *op)
{
  if (strcmp (op->word[3], "linear") == 0)
    return blkhash_opts_set_linear (opts, 1);
  return blkhash_opts_set_streams (opts, number (op, 3));
}

static struct blkhash_opts *
make_opts (const struct op *op)
{
  struct blkhash_opts *opts = blkhash_opts_new (op->word[1]);

  if (!opts)
    die ("blkhash_opts_new: %s: %s", op->word[1], strerror (errno));
  if (blkhash_opts_set_block_size (opts, number (op, 2)) != 0
      || set_construction (opts, op) != 0)
    die ("block size or streams were refused");
  return opts;
}

static int
do_digests (struct op *op)
{
  const char *names[MAX_DIGESTS];
  size_t count = blkhash_digests (names, MAX_DIGESTS);
  size_t i;

  if (count > MAX_DIGESTS || count != blkhash_digests (NULL, 0))
    die ("blkhash_digests: %zu digests?", count);
  for (i = 0; i < count; i++)
    fprintf (op->out, "%s ", names[i]);
  return 0;
}

/* ---- Buffers --------------------------------------------------------- */

static unsigned char *content;
static size_t content_size;

struct buffer {
  unsigned char *base;          /* as malloc gave it */
  unsigned char *data;          /* up to the last byte of the allocation */
  size_t len;
};

static int
do_content (struct op *op)
{
  free (content);
  content_size = number (op, 1);
  content = xcalloc (content_size, 1);
  return 0;
}

static int
do_patch (struct op *op)
{
  size_t from = number (op, 1), len = number (op, 2);

  if (from > content_size || len > content_size - from
      || fread (content + from, 1, len, stdin) != len)
    die ("bad patch");
  return 0;
}

static struct buffer *
buffer_create (size_t from, size_t len)
{
  struct buffer *buffer = xcalloc (1, sizeof *buffer);
  size_t shift = (from + len) % 32;

  if (from > content_size || len > content_size - from)
    die ("%zu bytes at %zu are not in the content", len, from);
  buffer->base = xcalloc (shift + len, 1);
  buffer->data = buffer->base + shift;
  buffer->len = len;
  if (len > 0)
    memcpy (buffer->data, content + from, len);
  return buffer;
}

static void
buffer_free (struct buffer *buffer)
{
  memset (buffer->data, 0xA5, buffer->len);
  free (buffer->base);
  free (buffer);
}

/* ---- Streaming ------------------------------------------------------- */

static struct blkhash *hash;
static struct buffer **inflight;        /* queue_depth, and NULL at the end */
static unsigned queue_depth, n_inflight;

static int
do_new (struct op *op)
{
  struct blkhash_opts *opts = make_opts (op);

  queue_depth = number (op, 5);
  if (blkhash_opts_set_threads (opts, number (op, 4)) != 0
      || blkhash_opts_set_queue_depth (opts, queue_depth) != 0)
    die ("threads or queue depth were refused");
  hash = blkhash_new_opts (opts);
  if (!hash)
    die ("blkhash_new_opts: %s", strerror (errno));
  blkhash_opts_free (opts);
  inflight = xcalloc (queue_depth + 1, sizeof *inflight);
  return 0;
}

static int
do_update (struct op *op)
{
  struct buffer *buffer = buffer_create (number (op, 1), number (op, 2));
  int err = blkhash_update (hash, buffer->data, buffer->len);

  buffer_free (buffer);
  return err;
}

static int
do_zero (struct op *op)
{
  return blkhash_zero (hash, number (op, 1));
}

static void
release (struct buffer **slot)
{
  if (slot < inflight || slot >= inflight + queue_depth || !*slot)
    die ("a completion for a request that is not in flight");
  buffer_free (*slot);
  *slot = NULL;
  n_inflight--;
}

/* Wait for the descriptor as a program does, drain it, reap. */
static void
reap_some (void)
{
  struct blkhash_completion done[3];
  struct pollfd pfd = {
    .fd = blkhash_aio_completion_fd (hash), .events = POLLIN,
  };
  char drain[8];
  int n, i;

  if (pfd.fd < 0 || !(fcntl (pfd.fd, F_GETFL) & O_NONBLOCK))
    die ("the completion fd is not one, or not O_NONBLOCK");
  if (poll (&pfd, 1, WAIT_MS) != 1)
    die ("%u requests in flight and no wake-up", n_inflight);
  if (read (pfd.fd, drain, sizeof drain) < 0)
    die ("the completion fd: %s", strerror (errno));
  while ((n = blkhash_aio_completions (hash, done, 3)) > 0)
    for (i = 0; i < n; i++) {
      if (done[i].error)
        die ("a request failed: %s", strerror (done[i].error));
      release (done[i].user_data);
    }
  if (n < 0)
    die ("blkhash_aio_completions: %s", strerror (-n));
}

static int
do_aio (struct op *op)
{
  struct buffer *buffer = buffer_create (number (op, 1), number (op, 2));
  struct buffer **slot;
  int err;

  for (;;) {
    for (slot = inflight; *slot; slot++)
      ;
    err = blkhash_aio_update (hash, buffer->data, buffer->len, slot);
    if (queue_depth > 0 && (err == EAGAIN) != (n_inflight == queue_depth))
      die ("blkhash_aio_update: %d with %u of %u requests in flight",
           err, n_inflight, queue_depth);
    if (err != EAGAIN)
      break;
    reap_some ();
  }
  if (err)
    buffer_free (buffer);
  else {
    *slot = buffer;
    n_inflight++;
  }
  return err;
}

static int
do_reap (struct op *op)
{
  (void) op;
  while (n_inflight > 0)
    reap_some ();
  return 0;
}

/* All buffers are returned to the caller. */
static void
release_all (void)
{
  unsigned i;

  for (i = 0; i < queue_depth; i++)
    if (inflight[i])
      release (&inflight[i]);
}

static int
do_final (struct op *op)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], again[BLKHASH_MAX_MD_SIZE];
  unsigned int len;
  int err = blkhash_final (hash, md, &len);

  release_all ();
  if (err)
    return err;
  if (blkhash_update (hash, "x", 1) != EINVAL
      || blkhash_zero (hash, 1) != EINVAL
      || blkhash_aio_update (hash, "x", 1, NULL) != EINVAL
      || blkhash_final (hash, again, NULL) != EINVAL)
    die ("a call after blkhash_final did not fail with EINVAL");
  print_md (op, md, len);
  return 0;
}

static int
do_free (struct op *op)
{
  (void) op;
  blkhash_free (hash);
  release_all ();
  free (inflight);
  return 0;
}

/* ---- The leaf table -------------------------------------------------- */

static struct blkhash_leaves *leaves;

static int
do_leaves_new (struct op *op)
{
  struct blkhash_opts *opts = make_opts (op);

  leaves = blkhash_leaves_new (opts, number (op, 4), number (op, 5));
  if (!leaves)
    die ("blkhash_leaves_new: %s", strerror (errno));
  blkhash_opts_free (opts);
  return 0;
}

static int
do_leaves_size (struct op *op)
{
  return blkhash_leaves_set_size (leaves, number (op, 1));
}

static int
do_leaves_data (struct op *op)
{
  struct buffer *buffer = buffer_create (number (op, 1), number (op, 2));
  int err = blkhash_leaves_data (leaves, buffer->data, buffer->len,
                                 number (op, 3));

  buffer_free (buffer);
  return err;
}

static int
do_leaves_zero (struct op *op)
{
  return blkhash_leaves_zero (leaves, number (op, 1), number (op, 2));
}

static int
do_leaves_forget (struct op *op)
{
  return blkhash_leaves_forget (leaves, number (op, 1), number (op, 2));
}

static int
do_leaves_missing (struct op *op)
{
  uint64_t offset = number (op, 1), start, len;
  int err;

  while ((err = blkhash_leaves_next_missing (leaves, offset, &start, &len))
         == 0) {
    if (len == 0 || start < offset || start + len < start)
      die ("missing from %" PRIu64 ": %" PRIu64 " bytes at %" PRIu64,
           offset, len, start);
    fprintf (op->out, "%" PRIu64 " %" PRIu64 " ", start, len);
    offset = start + len;
  }
  return err == ENOENT ? 0 : err;
}

static int
do_leaves_count (struct op *op)
{
  uint64_t data, zero;

  blkhash_leaves_count (leaves, &data, &zero);
  fprintf (op->out, "%" PRIu64 " %" PRIu64, data, zero);
  return 0;
}

static int
do_leaves_fold (struct op *op)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int len;
  int err = blkhash_leaves_fold (leaves, md, &len);

  if (!err)
    print_md (op, md, len);
  return err;
}

static int
do_leaves_free (struct op *op)
{
  (void) op;
  blkhash_leaves_free (leaves);
  return 0;
}

/* ---- The script ------------------------------------------------------ */

static const struct {
  const char *name;
  int (*execute) (struct op *op);
} table[] = {
  { "digests", do_digests }, { "content", do_content }, { "patch", do_patch },
  { "new", do_new }, { "update", do_update }, { "zero", do_zero },
  { "aio", do_aio }, { "reap", do_reap }, { "final", do_final },
  { "free", do_free },
  { "leaves-new", do_leaves_new }, { "leaves-data", do_leaves_data },
  { "leaves-zero", do_leaves_zero }, { "leaves-forget", do_leaves_forget },
  { "leaves-missing", do_leaves_missing }, { "leaves-count", do_leaves_count },
  { "leaves-fold", do_leaves_fold }, { "leaves-free", do_leaves_free },
  { "leaves-size", do_leaves_size },
};

static void
execute (struct op *op)
{
  size_t i;

  for (i = 0; strcmp (op->word[0], table[i].name) != 0; i++)
    if (i == sizeof table / sizeof table[0] - 1)
      die ("no operation %s", op->word[0]);
  op->out = open_memstream (&op->result, &op->result_len);
  if (!op->out)
    die ("out of memory");
  op->err = table[i].execute (op);
  /* Without memory, fclose of glibc returns 0, but there is no result. */
  if (fclose (op->out) != 0 || !op->result)
    die ("out of memory");
}

static void
answer (struct op *op)
{
  if (op->err)
    printf ("error %d\n", op->err);
  else
    printf ("ok %s\n", op->result);
  free (op->result);
}

static int
read_op (struct op *op)
{
  char line[160];

  if (!fgets (line, sizeof line, stdin))
    return -1;
  memset (op, 0, sizeof *op);
  sscanf (line, "%23s %23s %23s %23s %23s %23s", op->word[0], op->word[1],
          op->word[2], op->word[3], op->word[4], op->word[5]);
  return 0;
}

struct batch {
  pthread_mutex_t start;        /* locked until all threads exist */
  struct op *ops;
  unsigned count;
  unsigned next;                /* atomic */
};

static void *
batch_thread (void *arg)
{
  struct batch *batch = arg;
  unsigned i;

  pthread_mutex_lock (&batch->start);
  pthread_mutex_unlock (&batch->start);
  while ((i = __atomic_fetch_add (&batch->next, 1, __ATOMIC_RELAXED))
         < batch->count)
    execute (&batch->ops[i]);
  return NULL;
}

static void
run_batch (unsigned n_threads, unsigned count)
{
  struct batch batch = {
    .start = PTHREAD_MUTEX_INITIALIZER,
    .ops = xcalloc (count, sizeof *batch.ops), .count = count,
  };
  pthread_t threads[MAX_THREADS];
  unsigned i;

  if (n_threads < 1 || n_threads > MAX_THREADS)
    die ("%u threads", n_threads);
  for (i = 0; i < count; i++)
    if (read_op (&batch.ops[i]) == -1)
      die ("an operation is missing");
  pthread_mutex_lock (&batch.start);
  for (i = 1; i < n_threads; i++)
    if (pthread_create (&threads[i], NULL, batch_thread, &batch) != 0)
      die ("pthread_create");
  pthread_mutex_unlock (&batch.start);
  batch_thread (&batch);
  for (i = 1; i < n_threads; i++)
    pthread_join (threads[i], NULL);
  for (i = 0; i < count; i++)
    answer (&batch.ops[i]);
  free (batch.ops);
}

int
main (void)
{
  struct op op;

  while (read_op (&op) == 0) {
    if (strcmp (op.word[0], "batch") == 0)
      run_batch (number (&op, 1), number (&op, 2));
    else {
      execute (&op);
      answer (&op);
    }
    if (fflush (stdout) == EOF || ferror (stdout))
      die ("cannot answer");
  }
  free (content);
  return 0;
}

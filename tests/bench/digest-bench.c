/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures the speed of a digest: hashes blocks in memory as the library does,
 * and with OpenSSL for comparison, and prints the result as JSON.
 *
 * Each thread alternates: some milliseconds with the library, then as many
 * blocks with OpenSSL, so that changes of the machine's speed affect both.  The
 * ratio is the median of the ratios of these pairs, in CPU time; cycles are
 * too, so other users of the CPU do not count.  The throughput is in elapsed
 * time.
 */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "blkhash.h"
#include "clock.h"
#include "hasher.h"

const char program[] = "digest-bench";

static const char usage[] =
"Usage: digest-bench [OPTION]...\n"
"Measure a digest on blocks in memory, and the same digest of OpenSSL in turn\n"
"with it, and print the result as JSON.\n"
"\n"
"  -d, --digest-name NAME    digest, default sha256; or nop, memcpy or crc32c,\n"
"                            which are none, to compare with\n"
"  -T, --timeout-seconds N   stop after N seconds, default 1\n"
"  -s, --input-size N        hash N bytes in each thread, however long that\n"
"                            takes\n"
"  -r, --read-size N         size of a block, a power of two, default 64k\n"
"  -t, --threads N           default 1; each hashes blocks of its own\n"
"  -B, --batch N             blocks that the library gets at once, default 32;\n"
"                            0: all is one message, read-size bytes at a time\n"
"  -h, --help                print this and exit\n"
"\n"
"Sizes take the suffixes k, m, g and t.\n";

#define MAX_BATCH 4096
#define TURN 0.002              /* seconds of a turn */

/* ---- Options ---- */

static const char *digest = "sha256";
static double timeout_seconds = 1;
static uint64_t input_size;     /* 0: until the timeout */
static uint64_t block_size = 64 * 1024;
static unsigned nr_threads = 1;
static unsigned batch = 32;

static void
parse_options (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "digest-name", required_argument, NULL, 'd' },
    { "timeout-seconds", required_argument, NULL, 'T' },
    { "input-size", required_argument, NULL, 's' },
    { "read-size", required_argument, NULL, 'r' },
    { "threads", required_argument, NULL, 't' },
    { "batch", required_argument, NULL, 'B' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  int c;

  while ((c = getopt_long (argc, argv, "d:T:s:r:t:B:h", longs, NULL)) != -1)
    switch (c) {
    case 'd': digest = optarg; break;
    case 'T': timeout_seconds = seconds_arg (optarg); break;
    case 's': input_size = size_arg (optarg); break;
    case 'r': block_size = size_arg (optarg); break;
    case 't': nr_threads = number_arg (optarg, 1, 128); break;
    case 'B': batch = number_arg (optarg, 0, MAX_BATCH); break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind < argc)
    die (2, "unexpected argument '%s'", argv[optind]);
  if (block_size < 4 || block_size > 16 << 20 ||
      (block_size & (block_size - 1)) != 0)
    die (2, "the read size must be a power of two from 4 to 16m");
}

/* ---- Measure ---- */

/* The work of one of the two, in one thread. */
struct side {
  struct hasher *hasher;        /* NULL: it does not have this digest */
  double seconds, cpu_seconds;
};

struct worker {
  pthread_t thread;
  struct side ours, openssl;
  uint64_t bytes;               /* that each side hashed */
  double *ratios;               /* of the turns */
  size_t turns;
  double cycles_per_second;     /* 0: not known */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* of our side */
  size_t md_len;
};

static pthread_barrier_t ready;

/* Returns the CPU seconds of the call. */
static double
take_turn (struct side *side, const unsigned char *data, uint64_t batches)
{
  const double start = seconds_now (), cpu_start = cpu_seconds_now ();
  double cpu_seconds;

  for (; batches > 0; batches--)
    side->hasher->run (side->hasher, data, block_size, batch ? batch : 1);
  cpu_seconds = cpu_seconds_now () - cpu_start;
  side->cpu_seconds += cpu_seconds;
  side->seconds += seconds_now () - start;
  return cpu_seconds;
}

/* The number of batches in a turn.  Also warms up.  The measurement starts with
 * a new message.
 */
static uint64_t
calibrate (struct side *side, const unsigned char *data)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  uint64_t batches = 1;

  while (take_turn (side, data, batches) < TURN)
    batches *= 2;
  side->seconds = side->cpu_seconds = 0;
  side->hasher->checksum (side->hasher, md);
  return batches;
}

static void
add_ratio (struct worker *w, double ratio)
{
  if ((w->turns & (w->turns - 1)) == 0) {
    w->ratios = realloc (w->ratios,
                         2 * (w->turns + 1) * sizeof w->ratios[0]);
    if (!w->ratios)
      check (ENOMEM, "ratios");
  }
  w->ratios[w->turns++] = ratio;
}

static unsigned char *
new_data (void)
{
  size_t size = block_size * (batch ? batch : 1);
  unsigned char *data = NULL;

  check (posix_memalign ((void **) &data, 4096, size), "data");
  memset (data, 'U', size);
  return data;
}

static void *
work (void *opaque)
{
  struct worker *w = opaque;
  unsigned char *data = new_data ();
  const uint64_t batch_size = block_size * (batch ? batch : 1);
  uint64_t batches = calibrate (&w->ours, data);
  double start;
  uint64_t cycles;

  if (w->openssl.hasher)
    w->openssl.hasher->run (w->openssl.hasher, data, block_size, 1);
  pthread_barrier_wait (&ready);
  start = seconds_now ();
  cycles = cycles_now ();
  do {
    double ours, theirs;
    const uint64_t left = input_size - w->bytes;

    if (input_size && left < batches * batch_size)
      batches = (left + batch_size - 1) / batch_size;
    ours = take_turn (&w->ours, data, batches);
    w->bytes += batches * batch_size;
    if (w->openssl.hasher) {
      theirs = take_turn (&w->openssl, data, batches);
      add_ratio (w, theirs / ours);
    }
  } while (input_size ? w->bytes < input_size
                      : seconds_now () - start < timeout_seconds);
  w->cycles_per_second = (cycles_now () - cycles) / (seconds_now () - start);
  w->md_len = w->ours.hasher->checksum (w->ours.hasher, w->md);
  free (data);
  return NULL;
}

/* ---- Threads ---- */

static void
make_hashers (struct worker *w)
{
  w->ours.hasher = yardstick_hasher (digest, block_size);
  if (w->ours.hasher)
    return;
  if (batch) {
    w->ours.hasher = leaf_hasher (digest, block_size);
    w->openssl.hasher = openssl_hasher (digest);
  }
  else {
    w->ours.hasher = message_hasher (digest);
    w->openssl.hasher = openssl_message_hasher (digest);
  }
}

static void
free_worker (struct worker *w)
{
  w->ours.hasher->free (w->ours.hasher);
  if (w->openssl.hasher)
    w->openssl.hasher->free (w->openssl.hasher);
  free (w->ratios);
}

static void
run_threads (struct worker *workers)
{
  unsigned i;

  check (pthread_barrier_init (&ready, NULL, nr_threads), "barrier");
  for (i = 0; i < nr_threads; i++)
    make_hashers (&workers[i]);
  for (i = 0; i < nr_threads; i++)
    check (pthread_create (&workers[i].thread, NULL, work, &workers[i]),
           "pthread_create");
  for (i = 0; i < nr_threads; i++)
    pthread_join (workers[i].thread, NULL);
  pthread_barrier_destroy (&ready);
}

/* ---- Result ---- */

/* The sum of one side, over all threads. */
struct sum {
  double bytes_per_second;
  double cpu_seconds;
  double cycles_per_byte;       /* the mean of the threads */
};

static void
add (struct sum *sum, const struct worker *w, const struct side *side)
{
  sum->bytes_per_second += w->bytes / side->seconds;
  sum->cpu_seconds += side->cpu_seconds;
  sum->cycles_per_byte += side->cpu_seconds * w->cycles_per_second / w->bytes
                          / nr_threads;
}

static void
print_sum (const char *prefix, const struct sum *sum)
{
  if (sum->bytes_per_second > 0)
    printf ("  \"%sthroughput\": %.0f,\n", prefix, sum->bytes_per_second);
  else
    printf ("  \"%sthroughput\": null,\n", prefix);
  if (sum->cpu_seconds > 0)
    printf ("  \"%scpu-seconds\": %.6f,\n", prefix, sum->cpu_seconds);
  else
    printf ("  \"%scpu-seconds\": null,\n", prefix);
  if (sum->cycles_per_byte > 0)
    printf ("  \"%scycles-per-byte\": %.4g,\n", prefix, sum->cycles_per_byte);
  else
    printf ("  \"%scycles-per-byte\": null,\n", prefix);
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* The median over all threads. */
static void
print_ratio (struct worker *workers)
{
  double *all;
  size_t count = 0, turns = 0;
  unsigned i;

  for (i = 0; i < nr_threads; i++)
    turns += workers[i].turns;
  if (turns == 0) {
    printf ("  \"ratio\": null,\n");
    return;
  }
  all = calloc (turns, sizeof *all);
  if (!all)
    check (ENOMEM, "ratios");
  for (i = 0; i < nr_threads; i++) {
    memcpy (all + count, workers[i].ratios,
            workers[i].turns * sizeof *all);
    count += workers[i].turns;
  }
  qsort (all, turns, sizeof *all, compare);
  printf ("  \"ratio\": %.3f,\n", (all[(turns - 1) / 2] + all[turns / 2]) / 2);
  free (all);
}

/* All blocks are the same, and so are messages of the same length. */
static void
print_checksum (const struct worker *first)
{
  size_t i;

  printf ("  \"checksum\": \"");
  for (i = 0; i < first->md_len; i++)
    printf ("%02x", first->md[i]);
  printf ("\"\n");
}

static void
print_result (struct worker *workers)
{
  struct sum ours = { 0 }, openssl = { 0 };
  uint64_t total = 0;
  double elapsed = 0;
  unsigned i;

  for (i = 0; i < nr_threads; i++) {
    struct worker *w = &workers[i];

    total += w->bytes;
    if (w->ours.seconds > elapsed)
      elapsed = w->ours.seconds;
    add (&ours, w, &w->ours);
    if (w->openssl.hasher)
      add (&openssl, w, &w->openssl);
  }
  printf ("{\n");
  printf ("  \"digest-name\": \"%s\",\n", digest);
  printf ("  \"timeout-seconds\": %g,\n", timeout_seconds);
  printf ("  \"input-size\": %" PRIu64 ",\n", input_size);
  printf ("  \"read-size\": %" PRIu64 ",\n", block_size);
  printf ("  \"threads\": %u,\n", nr_threads);
  printf ("  \"batch\": %u,\n", batch);
  printf ("  \"total-size\": %" PRIu64 ",\n", total);
  printf ("  \"elapsed\": %.6f,\n", elapsed);
  print_sum ("", &ours);
  print_sum ("openssl-", &openssl);
  print_ratio (workers);
  print_checksum (&workers[0]);
  printf ("}\n");
}

int
main (int argc, char *argv[])
{
  struct worker *workers;
  unsigned i;

  parse_options (argc, argv);
  workers = calloc (nr_threads, sizeof *workers);
  if (!workers)
    check (ENOMEM, "workers");
  run_threads (workers);
  print_result (workers);
  for (i = 0; i < nr_threads; i++)
    free_worker (&workers[i]);
  free (workers);
  if (fflush (stdout) != 0)
    check (errno, "stdout");
  return 0;
}

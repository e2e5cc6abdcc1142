/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures the speed of the library: hashes data, zeros or holes from memory by
 * the public API, and prints the result as JSON.
 */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "blkhash.h"
#include "clock.h"

const char program[] = "blkhash-bench";

static const char usage[] =
"Usage: blkhash-bench [OPTION]...\n"
"Measure libblkhash on data in memory and print the result as JSON.\n"
"\n"
"  -i, --input-type TYPE     data (default), zero (zeros in memory) or hole\n"
"  -d, --digest-name NAME    digest, default sha256\n"
"  -T, --timeout-seconds N   stop after N seconds, default 1\n"
"  -s, --input-size N        hash N bytes, however long that takes\n"
"  -a, --aio                 use the asynchronous API (holes have no buffers)\n"
"  -q, --queue-depth N       asynchronous updates in flight, default 16\n"
"  -t, --threads N           threads that hash, default: CPUs, at most 16\n"
"  -S, --streams N           default 64, the construction of blkhash 0.9;\n"
"                            0 is flat\n"
"  -b, --block-size N        default 64k\n"
"  -r, --read-size N         bytes of an update, default 256k\n"
"  -z, --hole-size N         bytes of a hole, default 16g\n"
"  -h, --help                print this and exit\n"
"\n"
"Sizes take the suffixes k, m, g and t.\n";

/* ---- Options ---- */

enum input_type { DATA, ZERO, HOLE };

static const char *const input_types[] = { "data", "zero", "hole" };

static enum input_type input_type = DATA;
static double timeout_seconds = 1;
static uint64_t input_size;     /* 0: until the timeout */
static bool aio;
static unsigned queue_depth = 16;
static uint64_t read_size = 256 * 1024;
static uint64_t hole_size = UINT64_C (16) << 30;

static enum input_type
input_type_arg (const char *arg)
{
  size_t i;

  for (i = 0; i < sizeof input_types / sizeof input_types[0]; i++)
    if (strcmp (arg, input_types[i]) == 0)
      return i;
  die (2, "'%s' is not data, zero or hole", arg);
}

static struct blkhash_opts *
new_opts (const char *digest)
{
  struct blkhash_opts *opts = blkhash_opts_new (digest);

  if (!opts)
    die (2, "digest '%s': %s", digest, strerror (errno));
  return opts;
}

static struct blkhash_opts *
parse_options (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "input-type", required_argument, NULL, 'i' },
    { "digest-name", required_argument, NULL, 'd' },
    { "timeout-seconds", required_argument, NULL, 'T' },
    { "input-size", required_argument, NULL, 's' },
    { "aio", no_argument, NULL, 'a' },
    { "queue-depth", required_argument, NULL, 'q' },
    { "threads", required_argument, NULL, 't' },
    { "streams", required_argument, NULL, 'S' },
    { "block-size", required_argument, NULL, 'b' },
    { "read-size", required_argument, NULL, 'r' },
    { "hole-size", required_argument, NULL, 'z' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  const char *digest = "sha256";
  uint64_t block_size = 64 * 1024, streams = 64, threads = 0;
  struct blkhash_opts *opts;
  int c;

  while ((c = getopt_long (argc, argv, "i:d:T:s:aq:t:S:b:r:z:h",
                           longs, NULL)) != -1)
    switch (c) {
    case 'i': input_type = input_type_arg (optarg); break;
    case 'd': digest = optarg; break;
    case 'T': timeout_seconds = seconds_arg (optarg); break;
    case 's': input_size = size_arg (optarg); break;
    case 'a': aio = true; break;
    case 'q': queue_depth = number_arg (optarg, 1, 65536); break;
    case 't': threads = number_arg (optarg, 1, 128); break;
    case 'S': streams = number_arg (optarg, 0, 1024); break;
    case 'b': block_size = size_arg (optarg); break;
    case 'r': read_size = size_arg (optarg); break;
    case 'z': hole_size = size_arg (optarg); break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind < argc)
    die (2, "unexpected argument '%s'", argv[optind]);
  if (block_size > UINT32_MAX)
    die (2, "the block size is too large");
  if (read_size == 0 || read_size > SIZE_MAX / queue_depth)
    die (2, "the read size is 0 or too large");
  if (hole_size == 0 || hole_size > SIZE_MAX)
    die (2, "the hole size is 0 or too large");

  opts = new_opts (digest);
  check (blkhash_opts_set_block_size (opts, block_size), "block size");
  check (blkhash_opts_set_streams (opts, streams), "streams");
  if (threads)
    check (blkhash_opts_set_threads (opts, threads), "threads");
  if (aio)
    check (blkhash_opts_set_queue_depth (opts, queue_depth), "queue depth");
  return opts;
}

/* ---- Input ---- */

static double start;
static uint64_t total;          /* bytes appended so far */

/* The length of the next piece, MOST or less; 0 at the end.  With a timeout it
 * is never 0 at first: on a busy machine the timeout may pass before that, and
 * a rate of 0 would be useless.
 */
static size_t
next_length (size_t most)
{
  if (input_size == 0)
    return total == 0 || seconds_now () - start < timeout_seconds ? most : 0;
  return input_size - total < most ? input_size - total : most;
}

static unsigned char *
new_buffers (unsigned count)
{
  unsigned char *buffers = NULL;

  check (posix_memalign ((void **) &buffers, 4096, count * read_size),
         "buffers");
  memset (buffers, input_type == ZERO ? 0 : 'U', count * read_size);
  return buffers;
}

static void
append_holes (struct blkhash *h)
{
  size_t len;

  while ((len = next_length (hole_size)) > 0) {
    check (blkhash_zero (h, len), "blkhash_zero");
    total += len;
  }
}

static void
append_sync (struct blkhash *h)
{
  unsigned char *buffer = new_buffers (1);
  size_t len;

  while ((len = next_length (read_size)) > 0) {
    check (blkhash_update (h, buffer, len), "blkhash_update");
    total += len;
  }
  free (buffer);
}

/* ---- Asynchronous input ---- */

/* The buffers that the library does not use. */
struct stack {
  unsigned char **top;
  struct blkhash_completion *done;
};

/* Wait until a buffer is returned.  The descriptor is drained first: requests
 * that complete later make it readable again.
 */
static void
wait_and_reap (struct blkhash *h, struct stack *ours)
{
  struct pollfd fd = {
    .fd = blkhash_aio_completion_fd (h), .events = POLLIN
  };
  uint64_t drain;
  int i, n;

  if (poll (&fd, 1, -1) == -1 && errno != EINTR)
    check (errno, "poll");
  if (read (fd.fd, &drain, sizeof drain) == -1 &&
      errno != EAGAIN && errno != EINTR)
    check (errno, "completion fd");
  n = blkhash_aio_completions (h, ours->done, queue_depth);
  check (n < 0 ? -n : 0, "blkhash_aio_completions");
  for (i = 0; i < n; i++) {
    check (ours->done[i].error, "completion");
    *ours->top++ = ours->done[i].user_data;
  }
}

static void
append_async (struct blkhash *h, unsigned char *buffers)
{
  unsigned char **all = calloc (queue_depth, sizeof *all);
  struct stack ours = {
    .top = all, .done = calloc (queue_depth, sizeof *ours.done)
  };
  size_t len;
  unsigned i;

  if (!all || !ours.done)
    check (ENOMEM, "buffers");
  for (i = 0; i < queue_depth; i++)
    *ours.top++ = buffers + i * read_size;

  while ((len = next_length (read_size)) > 0) {
    while (ours.top == all)
      wait_and_reap (h, &ours);
    ours.top--;
    check (blkhash_aio_update (h, *ours.top, len, *ours.top),
           "blkhash_aio_update");
    total += len;
  }
  free (ours.done);
  free (all);
}

/* ---- Result ---- */

static void
print_result (const struct blkhash_opts *opts, double elapsed,
              const unsigned char *md, unsigned len)
{
  unsigned i;

  printf ("{\n");
  printf ("  \"input-type\": \"%s\",\n", input_types[input_type]);
  printf ("  \"digest-name\": \"%s\",\n", blkhash_opts_get_digest_name (opts));
  printf ("  \"timeout-seconds\": %g,\n", timeout_seconds);
  printf ("  \"input-size\": %" PRIu64 ",\n", input_size);
  printf ("  \"aio\": %s,\n", aio ? "true" : "false");
  printf ("  \"queue-depth\": %u,\n", queue_depth);
  printf ("  \"block-size\": %" PRIu32 ",\n",
          blkhash_opts_get_block_size (opts));
  printf ("  \"read-size\": %" PRIu64 ",\n", read_size);
  printf ("  \"hole-size\": %" PRIu64 ",\n", hole_size);
  printf ("  \"threads\": %u,\n", blkhash_opts_get_threads (opts));
  printf ("  \"streams\": %u,\n", blkhash_opts_get_streams (opts));
  printf ("  \"total-size\": %" PRIu64 ",\n", total);
  printf ("  \"elapsed\": %.6f,\n", elapsed);
  printf ("  \"throughput\": %.0f,\n", total / elapsed);
  printf ("  \"checksum\": \"");
  for (i = 0; i < len; i++)
    printf ("%02x", md[i]);
  printf ("\"\n}\n");
}

int
main (int argc, char *argv[])
{
  struct blkhash_opts *opts = parse_options (argc, argv);
  struct blkhash *h = blkhash_new_opts (opts);
  unsigned char *buffers = NULL;
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  if (!h)
    check (errno, "blkhash_new_opts");
  if (aio && input_type != HOLE)
    buffers = new_buffers (queue_depth);

  start = seconds_now ();
  if (input_type == HOLE)
    append_holes (h);
  else if (aio)
    append_async (h, buffers);
  else
    append_sync (h);
  check (blkhash_final (h, md, &len), "blkhash_final");
  print_result (opts, seconds_now () - start, md, len);

  blkhash_free (h);
  blkhash_opts_free (opts);
  free (buffers);
  if (fflush (stdout) != 0)
    check (errno, "stdout");
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures how good the selection of kernels is.  For each number of blocks our
 * selection, each kernel alone and the library that implements the digest,
 * OpenSSL or libb2, take turns on the same blocks.  The result, as JSON,
 * compares the selection with the best of the others.
 *
 * Times are CPU time.  The ratio is computed for each turn, so changes of the
 * machine's speed affect all.
 */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpu.h"
#include "digest/digest.h"
#include "lanes/lanes.h"

#include "args.h"
#include "clock.h"

const char program[] = "lanes-bench";

static const char usage[] =
"Usage: lanes-bench [OPTION]...\n"
"Measure the choice of kernels for 1 to 64 blocks, beside each kernel by\n"
"itself and the library of the digest (OpenSSL or libb2), in turn, and print\n"
"the result as JSON.\n"
"\n"
"  -d, --digest-name NAME    digest, default sha256\n"
"  -r, --read-size N         size of a block, default 64k\n"
"  -B, --batch N             only so many blocks; default: 1 to 64\n"
"  -n, --turns N             of each, default 9\n"
"  -h, --help                print this and exit\n"
"\n"
"Sizes take the suffixes k, m, g and t.\n";

#define MAX_BATCH 64
#define MAX_TURNS 1000
/* Minimum seconds of a turn: a CPU that slows down for AVX-512 stays slow for
 * half a millisecond afterwards.
 */
#define TURN 0.002

/* ---- Options ---- */

static const char *digest_arg = "sha256";
static size_t block_size = 64 * 1024;
static size_t first_batch = 1, last_batch = MAX_BATCH;
static unsigned nr_turns = 9;

static void
parse_options (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "digest-name", required_argument, NULL, 'd' },
    { "read-size", required_argument, NULL, 'r' },
    { "batch", required_argument, NULL, 'B' },
    { "turns", required_argument, NULL, 'n' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  int c;

  while ((c = getopt_long (argc, argv, "d:r:B:n:h", longs, NULL)) != -1)
    switch (c) {
    case 'd': digest_arg = optarg; break;
    case 'r': block_size = size_arg (optarg); break;
    case 'B':
      first_batch = last_batch = number_arg (optarg, 1, MAX_BATCH);
      break;
    case 'n': nr_turns = number_arg (optarg, 1, MAX_TURNS); break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind < argc)
    die (2, "unexpected argument '%s'", argv[optind]);
  if (block_size < 64 || block_size > 16 << 20)
    die (2, "the read size must be from 64 to 16m");
}

/* ---- Sides ---- */

static struct digest *digest;
static struct digest_ctx *ctx;
static const struct lane_hash *hash;
static struct lanes *lanes;

static const void *data[MAX_BATCH];
static unsigned char *md[MAX_BATCH];

static int
update (void *opaque, const void *from, size_t len)
{
  return digest_update (opaque, from, len);
}

static void
set_up (void)
{
  static unsigned char mds[MAX_BATCH][LANE_MAX_MD];
  struct single_hash single = { .update = update };
  unsigned char *blocks = NULL;
  size_t i;

  digest = digest_create (digest_arg);
  if (!digest)
    check (errno, digest_arg);
  for (i = 0; lane_hashes[i]; i++)
    if (strcmp (lane_hashes[i]->name, digest_name (digest)) == 0)
      hash = lane_hashes[i];
  lanes = lanes_create (digest_name (digest));
  if (!lanes)
    die (1, "no kernel of %s for this CPU", digest_arg);
  single.opaque = ctx = digest_ctx_create (digest);
  if (!ctx || posix_memalign ((void **) &blocks, 4096,
                              MAX_BATCH * block_size) != 0)
    check (ENOMEM, "blocks");
  memset (blocks, 'U', MAX_BATCH * block_size);
  for (i = 0; i < MAX_BATCH; i++) {
    data[i] = blocks + i * block_size;
    md[i] = mds[i];
  }
  check (digest_init (ctx), "digest_init");
  lanes_add (lanes, 64 << 20);
  lanes_measure (lanes, &single);
}

static void
hash_one (size_t i)
{
  check (digest_init (ctx), "digest_init");
  check (digest_update (ctx, data[i], block_size), "digest_update");
  check (digest_final (ctx, md[i]), "digest_final");
}

/* As in leaf.c, in groups of 32. */
static void
hash_by_choice (size_t count)
{
  size_t i, n, end;

  for (i = 0; i < count; i += n) {
    end = (i / 32 + 1) * 32 < count ? (i / 32 + 1) * 32 : count;
    n = lanes_hash (lanes, data + i, block_size, md + i, end - i);
    if (n == 0) {
      hash_one (i);
      n = 1;
    }
  }
}

/* NULL: the library that the digest comes from. */
static void
hash_by_kernel (const struct lane_kernel *kernel, size_t count)
{
  size_t i, n;

  for (i = 0; i < count; i += n) {
    n = count - i;
    if (!kernel) {
      hash_one (i);
      n = 1;
      continue;
    }
    if (n > kernel->lanes)
      n = kernel->lanes;
    lane_kernel_hash (hash, kernel, data + i, block_size, md + i, n);
  }
}

/* ---- Turns ---- */

/* Of the selection, of the library and of each kernel, in this order. */
#define MAX_SIDES (2 + LANE_MAX_KERNELS)

struct side {
  const char *name;
  const struct lane_kernel *kernel;
  double seconds[MAX_TURNS];    /* per batch */
};

static struct side sides[MAX_SIDES];
static size_t nr_sides;

static void
add_sides (void)
{
  size_t i;

  sides[nr_sides++].name = "choice";
  sides[nr_sides++].name = "library";
  for (i = 0; hash->kernels[i]; i++)
    if (lane_kernel_is_usable (hash->kernels[i], cpu_features (),
                               getenv ("BLKHASH_CPU"))) {
      sides[nr_sides].kernel = hash->kernels[i];
      sides[nr_sides++].name = hash->kernels[i]->name;
    }
}

static double
take_turn (const struct side *side, size_t batch)
{
  const double start = cpu_seconds_now ();
  double seconds;
  size_t batches = 0;

  do {
    if (side == &sides[0])
      hash_by_choice (batch);
    else
      hash_by_kernel (side->kernel, batch);
    batches++;
    seconds = cpu_seconds_now () - start;
  } while (seconds < TURN);
  return seconds / batches;
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static double
median (const double *values, size_t count)
{
  double sorted[MAX_TURNS];

  memcpy (sorted, values, count * sizeof *values);
  qsort (sorted, count, sizeof *sorted, compare);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void
measure_batch (size_t batch, bool last)
{
  double ratios[MAX_TURNS];
  const struct side *best = &sides[1];
  unsigned turn;
  size_t i;

  for (i = 0; i < nr_sides; i++) /* warm up */
    take_turn (&sides[i], batch);
  for (turn = 0; turn < nr_turns; turn++)
    for (i = 0; i < nr_sides; i++) {
      struct side *side = &sides[(turn + i) % nr_sides];

      side->seconds[turn] = take_turn (side, batch);
    }
  for (i = 2; i < nr_sides; i++)
    if (median (sides[i].seconds, nr_turns) <
        median (best->seconds, nr_turns))
      best = &sides[i];
  for (turn = 0; turn < nr_turns; turn++)
    ratios[turn] = best->seconds[turn] / sides[0].seconds[turn];
  printf ("    {\"batch\": %zu, \"best\": \"%s\", \"ratio\": %.3f",
          batch, best->name, median (ratios, nr_turns));
  for (i = 0; i < nr_sides; i++)
    printf (", \"%s\": %.0f", sides[i].name,
            batch * block_size / median (sides[i].seconds, nr_turns));
  printf ("}%s\n", last ? "" : ",");
}

int
main (int argc, char *argv[])
{
  size_t batch;

  parse_options (argc, argv);
  set_up ();
  add_sides ();
  printf ("{\n  \"digest-name\": \"%s\",\n  \"read-size\": %zu,\n"
          "  \"batches\": [\n", hash->name, block_size);
  for (batch = first_batch; batch <= last_batch; batch++)
    measure_batch (batch, batch == last_batch);
  printf ("  ]\n}\n");
  free ((void *) data[0]);
  lanes_free (lanes);
  digest_ctx_free (ctx);
  digest_free (digest);
  if (fflush (stdout) != 0)
    check (errno, "stdout");
  return 0;
}

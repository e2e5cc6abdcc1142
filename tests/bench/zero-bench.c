/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures the speed of zero detection: the library's function, a plain loop,
 * and memcmp with a buffer of zeros, on blocks whose data is found at the
 * begin, at the end, or never.
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

#include "../../lib/common/zero.h"

#include "args.h"
#include "clock.h"

const char program[] = "zero-bench";

static const char usage[] =
"Usage: zero-bench [OPTION]...\n"
"Measure zero detection on a block in memory and print the results as JSON.\n"
"\n"
"  -T, --timeout-seconds N   for each case, default 0.1\n"
"  -b, --block-size N        default 64k\n"
"  -h, --help                print this and exit\n"
"\n"
"Sizes take the suffixes k, m, g and t.\n";

#define TURN 0.001              /* seconds */

static double timeout_seconds = 0.1;
static uint64_t block_size = 64 * 1024;

static void
parse_options (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "timeout-seconds", required_argument, NULL, 'T' },
    { "block-size", required_argument, NULL, 'b' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  int c;

  while ((c = getopt_long (argc, argv, "T:b:h", longs, NULL)) != -1)
    switch (c) {
    case 'T': timeout_seconds = seconds_arg (optarg); break;
    case 'b': block_size = size_arg (optarg); break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind < argc)
    die (2, "unexpected argument '%s'", argv[optind]);
  if (block_size == 0 || block_size > SIZE_MAX / 4)
    die (2, "the block size is 0 or too large");
}

/* ---- Functions ---- */

static const unsigned char *zeros;      /* block_size of them */

static bool
with_memcmp (const void *buf, size_t len)
{
  return memcmp (buf, zeros, len) == 0;
}

static bool
with_loop (const void *buf, size_t len)
{
  const unsigned char *p = buf;

  for (; len > 0; len--)
    if (*p++)
      return false;
  return true;
}

static const struct {
  const char *name;
  bool (*is_zero) (const void *buf, size_t len);
} functions[] = {
  { "blkhash", is_zero },
  { "memcmp", with_memcmp },
  { "loop", with_loop },
};

/* ---- Inputs ---- */

static void
make_best (unsigned char *block)
{
  memset (block, 'U', block_size);
}

static void
make_worst (unsigned char *block)
{
  memset (block, 0, block_size);
  block[block_size - 1] = 'U';
}

static void
make_zero (unsigned char *block)
{
  memset (block, 0, block_size);
}

static const struct {
  const char *name;
  void (*make) (unsigned char *block);
  bool zero;
} inputs[] = {
  { "data-best", make_best, false },
  { "data-worst", make_worst, false },
  { "zero", make_zero, true },
};

/* ---- Measure ---- */

static void
measure (int f, int i, const unsigned char *block, bool aligned)
{
  static bool not_first;
  bool (*volatile function) (const void *, size_t) = functions[f].is_zero;
  uint64_t calls = 0, turn = 1, n, cycles;
  double start, elapsed;

  if (function (block, block_size) != inputs[i].zero)
    die (1, "%s is wrong about %s", functions[f].name, inputs[i].name);

  start = seconds_now ();
  cycles = cycles_now ();
  do {
    const double before = seconds_now ();

    for (n = 0; n < turn; n++)
      function (block, block_size);
    calls += turn;
    if (seconds_now () - before < TURN)
      turn *= 2;
    elapsed = seconds_now () - start;
  } while (elapsed < timeout_seconds);
  cycles = cycles_now () - cycles;

  printf ("%s\n    {\"function\": \"%s\", \"input\": \"%s\", \"aligned\": %s, "
          "\"calls\": %" PRIu64 ", \"elapsed\": %.6f, "
          "\"nanoseconds-per-call\": %.1f, \"throughput\": %.0f, ",
          not_first ? "," : "", functions[f].name, inputs[i].name,
          aligned ? "true" : "false", calls, elapsed, elapsed / calls * 1e9,
          calls * block_size / elapsed);
  if (cycles)
    printf ("\"cycles-per-call\": %.1f}", (double) cycles / calls);
  else
    printf ("\"cycles-per-call\": null}");
  not_first = true;
}

static unsigned char *
new_block (void)
{
  unsigned char *block = NULL;

  check (posix_memalign ((void **) &block, 4096, block_size + 1), "block");
  memset (block, 0, block_size + 1);
  return block;
}

int
main (int argc, char *argv[])
{
  unsigned char *block, *other;
  int f, i, unaligned;

  parse_options (argc, argv);
  block = new_block ();
  zeros = other = new_block ();

  printf ("{\n  \"timeout-seconds\": %g,\n  \"block-size\": %" PRIu64 ",\n"
          "  \"results\": [", timeout_seconds, block_size);
  for (i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
    for (unaligned = 0; unaligned < 2; unaligned++) {
      inputs[i].make (block + unaligned);
      for (f = 0; f < sizeof functions / sizeof functions[0]; f++)
        measure (f, i, block + unaligned, !unaligned);
    }
  printf ("\n  ]\n}\n");

  free (other);
  free (block);
  if (fflush (stdout) != 0)
    check (errno, "stdout");
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Writes the manifest of a large disk that does not exist: all blocks have
 * leaves, which are pseudo-random, and behind them are as many blocks of zeros
 * as requested.  Or reads a manifest: the time in which its leaves and zeros can
 * be folded.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "blkhash-manifest.h"
#include "clock.h"

const char program[] = "manifest-bench";

static const char usage[] =
"Usage: manifest-bench [OPTION]... FILE\n"
"Write a manifest with the defaults of blksum, or with --read read one, and\n"
"print the result as JSON.\n"
"\n"
"  -b, --blocks N            of data, default 16777216: 1 TiB\n"
"  -z, --zeros N             blocks of zeros behind them, default 0\n"
"  -r, --read                read FILE\n"
"  -n, --no-sum              and do not compute the sum\n"
"  -h, --help                print this and exit\n";

#define LEAF 32                 /* bytes */
#define RUN 65536               /* leaves that are written at a time */

static uint64_t blocks = UINT64_C (1) << 24, zeros;
static bool reading;
static unsigned flags;

static int
parse_options (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "blocks", required_argument, NULL, 'b' },
    { "zeros", required_argument, NULL, 'z' },
    { "read", no_argument, NULL, 'r' },
    { "no-sum", no_argument, NULL, 'n' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  int c, fd;

  while ((c = getopt_long (argc, argv, "b:z:rnh", longs, NULL)) != -1)
    switch (c) {
    case 'b': blocks = number_arg (optarg, 0, UINT64_C (1) << 40); break;
    case 'z': zeros = number_arg (optarg, 0, UINT64_C (1) << 40); break;
    case 'r': reading = true; break;
    case 'n': flags = BLKHASH_MANIFEST_NO_SUM; break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind + 1 != argc)
    die (2, "not one FILE");
  fd = open (argv[optind], reading ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC,
             0666);
  if (fd == -1)
    check (errno, argv[optind]);
  return fd;
}

static void
fill (unsigned char *leaves, size_t len, uint64_t *state)
{
  size_t i;

  for (i = 0; i < len; i += sizeof *state) {
    *state = *state * UINT64_C (6364136223846793005) + 1;
    memcpy (leaves + i, state, sizeof *state);
  }
}

static void
write_manifest (int fd)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  uint64_t size = (blocks + zeros) * 65536, state = 1, i, n;
  unsigned char md[BLKHASH_MAX_MD_SIZE], *leaves = malloc (RUN * LEAF);
  struct blkhash_manifest_writer *w =
    opts ? blkhash_manifest_writer_new (opts, size, fd) : NULL;
  struct blkhash_leaf_sink sink;
  unsigned len;

  if (!w || !leaves)
    check (errno, "blkhash_manifest_writer_new");
  sink = blkhash_manifest_writer_sink (w);
  for (i = 0; i < blocks; i += n) {
    n = blocks - i < RUN ? blocks - i : RUN;
    fill (leaves, n * LEAF, &state);
    check (sink.data (sink.opaque, i, n, leaves, LEAF), "leaves");
  }
  if (zeros > 0)
    check (sink.zero (sink.opaque, blocks, zeros), "zeros");
  check (blkhash_manifest_writer_finish (w, size, md, &len),
         "blkhash_manifest_writer_finish");
  printf ("{\n  \"size\": %" PRIu64 ",\n  \"sum\": \"blk-sha256/64k:", size);
  for (i = 0; i < len; i++)
    printf ("%02x", md[i]);
  printf ("\"\n}\n");
  blkhash_manifest_writer_free (w);
  blkhash_opts_free (opts);
  free (leaves);
}

static void
read_manifest (int fd)
{
  double start = seconds_now (), cpu = cpu_seconds_now ();
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, flags, NULL, 0);
  struct blkhash_manifest_run run;
  int err = r ? 0 : errno;

  while (err == 0)
    err = blkhash_manifest_reader_next (r, &run);
  check (err == ENOENT ? 0 : err, "blkhash_manifest_reader_next");
  printf ("{\n  \"elapsed\": %.6f,\n  \"cpu-seconds\": %.6f\n}\n",
          seconds_now () - start, cpu_seconds_now () - cpu);
  blkhash_manifest_reader_free (r);
}

int
main (int argc, char *argv[])
{
  int fd = parse_options (argc, argv);

  if (reading)
    read_manifest (fd);
  else
    write_manifest (fd);
  if (close (fd) == -1)
    check (errno, "close");
  return fflush (stdout) == 0 ? 0 : 1;
}

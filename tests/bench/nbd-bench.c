/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures how many requests an NBD server answers per second.  Each connection
 * is a thread with a constant number of requests in flight, in order of offsets
 * in its own part of the export, again from the begin after the end; or with
 * --random at any offset of the export.  The result is printed as JSON.
 */

#include <config.h>

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnbd.h>

#include "args.h"
#include "clock.h"

const char program[] = "nbd-bench";

static const char usage[] =
"Usage: nbd-bench [OPTION]... URI\n"
"Measure how many requests a server answers and print the result as JSON.\n"
"\n"
"  -o, --operation NAME      read (default), write (data) or zero\n"
"  -c, --connections N       default 1\n"
"  -q, --in-flight N         requests of each connection, default 16\n"
"  -r, --request-size N      bytes, default 4k\n"
"  -T, --timeout-seconds N   stop after N seconds, default 1\n"
"  -1, --once                stop when all of the export was done once\n"
"  -R, --random              at random offsets, multiples of the request size\n"
"  -h, --help                print this and exit\n"
"\n"
"Sizes take the suffixes k, m and g.\n";

/* ---- Options ---- */

static const char *const operations[] = { "read", "write", "zero" };
static enum { READ, WRITE, ZERO } operation;
static const char *uri;
static unsigned connections = 1, in_flight = 16;
static uint64_t request_size = 4096;
static double timeout_seconds = 1;
static bool once, random_offsets;

static int
operation_arg (const char *arg)
{
  int i;

  for (i = READ; i <= ZERO; i++)
    if (strcmp (arg, operations[i]) == 0)
      return i;
  die (2, "'%s' is not read, write or zero", arg);
}

static void
parse_options (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "operation", required_argument, NULL, 'o' },
    { "connections", required_argument, NULL, 'c' },
    { "in-flight", required_argument, NULL, 'q' },
    { "request-size", required_argument, NULL, 'r' },
    { "timeout-seconds", required_argument, NULL, 'T' },
    { "once", no_argument, NULL, '1' },
    { "random", no_argument, NULL, 'R' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  int c;

  while ((c = getopt_long (argc, argv, "o:c:q:r:T:1Rh", longs, NULL)) != -1)
    switch (c) {
    case 'o': operation = operation_arg (optarg); break;
    case 'c': connections = number_arg (optarg, 1, 1000); break;
    case 'q': in_flight = number_arg (optarg, 1, 1000); break;
    case 'r': request_size = size_arg (optarg); break;
    case 'T': timeout_seconds = seconds_arg (optarg); break;
    case '1': once = true; break;
    case 'R': random_offsets = true; break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind + 1 != argc)
    die (2, "not one URI");
  if (once && random_offsets)
    die (2, "--once is in order, and not --random");
  if (request_size == 0 || request_size > 32 * 1024 * 1024)
    die (2, "the request size is 0 or too large");
  uri = argv[optind];
}

/* ---- A connection ---- */

struct connection {
  pthread_t thread;
  struct nbd_handle *nbd;
  uint64_t begin, end;          /* its part of the export, bytes */
  uint64_t seed;
  uint64_t requests;            /* that have completed */
  unsigned pending;             /* in flight */
  char *buffers;                /* one per request in flight, used in turn */
};

static void
check_nbd (int64_t r)
{
  if (r == -1)
    die (1, "%s", nbd_get_error ());
}

static int
answered (void *opaque, int *err)
{
  struct connection *c = opaque;

  check (*err, operations[operation]);
  c->requests++;
  c->pending--;
  return 1;
}

/* The buffer may still be in use by another request: data that was read is not
 * used, and data to write is the same in all buffers.
 */
static void
send_request (struct connection *c, uint64_t offset, uint64_t nth)
{
  char *buffer = c->buffers + nth % in_flight * request_size;
  nbd_completion_callback done = { .callback = answered, .user_data = c };
  int64_t r = -1;

  c->pending++;
  switch (operation) {
  case READ:
    r = nbd_aio_pread (c->nbd, buffer, request_size, offset, done, 0);
    break;
  case WRITE:
    r = nbd_aio_pwrite (c->nbd, buffer, request_size, offset, done, 0);
    break;
  case ZERO:
    r = nbd_aio_zero (c->nbd, request_size, offset, done, 0);
    break;
  }
  check_nbd (r);
}

/* The offset of the request after the one at OFFSET. */
static uint64_t
next_offset (struct connection *c, uint64_t offset)
{
  if (random_offsets) {         /* SplitMix64 */
    uint64_t x = c->seed += UINT64_C (0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C (0x94d049bb133111eb);
    return c->begin + (x ^ x >> 31) % ((c->end - c->begin) / request_size) *
      request_size;
  }
  offset += request_size;
  return offset + request_size > c->end ? c->begin : offset;
}

static void *
run (void *opaque)
{
  struct connection *c = opaque;
  double end = seconds_now () + timeout_seconds;
  uint64_t offset = c->begin, nth = 0;
  bool ended = false;

  while (!ended || c->pending > 0) {
    while (!ended && c->pending < in_flight) {
      send_request (c, offset, nth++);
      offset = next_offset (c, offset);
      ended = once && offset == c->begin;
    }
    if (c->pending > 0)
      check_nbd (nbd_poll (c->nbd, -1));
    if (!once && seconds_now () >= end)
      ended = true;
  }
  return NULL;
}

static void
open_connection (struct connection *c, unsigned nth)
{
  uint64_t part, size;

  c->nbd = nbd_create ();
  if (!c->nbd)
    check_nbd (-1);
  check_nbd (nbd_connect_uri (c->nbd, uri));
  /* Otherwise libnbd clears every buffer before a read. */
#ifdef LIBNBD_HAVE_NBD_SET_PREAD_INITIALIZE
  check_nbd (nbd_set_pread_initialize (c->nbd, false));
#endif
  size = nbd_get_size (c->nbd);
  part = random_offsets ? size : size / connections;
  part = part / request_size * request_size;
  if (part == 0)
    die (1, "the export is too small");
  c->begin = random_offsets ? 0 : nth * part;
  c->end = c->begin + part;
  c->seed = nth;
  c->buffers = malloc (in_flight * request_size);
  if (!c->buffers)
    die (1, "no memory");
  memset (c->buffers, 'U', in_flight * request_size);
}

int
main (int argc, char *argv[])
{
  struct connection *all;
  uint64_t requests = 0;
  double start;
  unsigned i;

  parse_options (argc, argv);
  all = calloc (connections, sizeof *all);
  if (!all)
    die (1, "no memory");
  for (i = 0; i < connections; i++)
    open_connection (&all[i], i);

  start = seconds_now ();
  for (i = 0; i < connections; i++)
    check (pthread_create (&all[i].thread, NULL, run, &all[i]), "thread");
  for (i = 0; i < connections; i++) {
    pthread_join (all[i].thread, NULL);
    requests += all[i].requests;
  }
  start = seconds_now () - start;

  printf ("{\n");
  printf ("  \"operation\": \"%s\",\n", operations[operation]);
  printf ("  \"connections\": %u,\n", connections);
  printf ("  \"in-flight\": %u,\n", in_flight);
  printf ("  \"request-size\": %" PRIu64 ",\n", request_size);
  printf ("  \"requests\": %" PRIu64 ",\n", requests);
  printf ("  \"elapsed\": %.6f,\n", start);
  printf ("  \"requests-per-second\": %.0f\n", requests / start);
  printf ("}\n");

  for (i = 0; i < connections; i++) {
    check_nbd (nbd_shutdown (all[i].nbd, 0));
    nbd_close (all[i].nbd);
    free (all[i].buffers);
  }
  free (all);
  return fflush (stdout) == 0 ? 0 : 1;
}

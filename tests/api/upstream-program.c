/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A program for upstream's blkhash, which prints the sum of an image.
 *
 *   upstream-program FILE                                the defaults
 *   upstream-program FILE DIGEST BLOCK_SIZE STREAMS 0    options
 *   upstream-program FILE DIGEST BLOCK_SIZE STREAMS N    N updates in flight
 *
 * test-soname.sh compiles it without our header, and with it to check that the
 * types are the same, and links it with another library than ours.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef WITH_OUR_HEADER
#include <blkhash.h>
#endif
#include "upstream-api.h"

_Static_assert (sizeof (struct blkhash_completion) == 2 * sizeof (void *),
                "size of a completion");
_Static_assert (offsetof (struct blkhash_completion, user_data) == 0
                && offsetof (struct blkhash_completion, error)
                   == sizeof (void *), "fields of a completion");

/* Neither aligned nor a multiple of a block. */
#define PIECE 50001

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf (stderr, "line %d: %s\n", __LINE__, #condition);          \
      exit (1);                                                         \
    }                                                                   \
  } while (0)

/* The content of a file, to be freed. */
static unsigned char *
read_file (const char *name, size_t *size)
{
  int fd = open (name, O_RDONLY);
  off_t end = lseek (fd, 0, SEEK_END);
  unsigned char *content = malloc (end + 1);

  CHECK (fd >= 0 && end >= 0 && content);
  CHECK (pread (fd, content, end, 0) == end);
  close (fd);
  *size = end;
  return content;
}

static bool
is_zero (const unsigned char *buf, size_t len)
{
  return buf[0] == 0 && memcmp (buf, buf + 1, len - 1) == 0;
}

/* Wait for one update, and for others that complete with it. */
static unsigned
reap (struct blkhash *h, unsigned in_flight, const unsigned char *data)
{
  struct pollfd wait = { blkhash_aio_completion_fd (h), POLLIN, 0 };
  struct blkhash_completion done[3];
  char drained[8];
  int count;

  CHECK (wait.fd >= 0);
  CHECK (poll (&wait, 1, -1) == 1);
  CHECK (read (wait.fd, drained, sizeof drained) > 0);
  do {
    count = blkhash_aio_completions (h, done, 3);
    CHECK (count >= 0 && count <= in_flight);
    in_flight -= count;
    for (int i = 0; i < count; i++) {
      CHECK (done[i].error == 0);
      CHECK (((unsigned char *) done[i].user_data - data) % PIECE == 0);
    }
  } while (count == 3);
  return in_flight;
}

static void
hash_data (struct blkhash *h, const unsigned char *data, size_t size,
           unsigned queue_depth)
{
  unsigned in_flight = 0;
  size_t len;
  int err;

  for (const unsigned char *p = data; p < data + size; p += len) {
    len = data + size - p < PIECE ? data + size - p : PIECE;
    if (is_zero (p, len))
      err = blkhash_zero (h, len);
    else if (queue_depth == 0)
      err = blkhash_update (h, p, len);
    else {
      while (in_flight == queue_depth)
        in_flight = reap (h, in_flight, data);
      err = blkhash_aio_update (h, p, len, (void *) p);
      in_flight++;
    }
    CHECK (err == 0);
  }
  while (in_flight > 0)
    in_flight = reap (h, in_flight, data);
}

static struct blkhash *
new_hash (char **args, unsigned *queue_depth)
{
  unsigned block_size = atoi (args[1]);
  unsigned streams = atoi (args[2]);
  struct blkhash_opts *opts = blkhash_opts_new (args[0]);
  struct blkhash *h;

  *queue_depth = atoi (args[3]);
  CHECK (opts);
  CHECK (blkhash_opts_set_block_size (opts, block_size) == 0);
  CHECK (blkhash_opts_set_block_size (opts, 3) == EINVAL);
  CHECK (blkhash_opts_set_threads (opts, 3) == 0);
  CHECK (blkhash_opts_set_threads (opts, 0) == EINVAL);
  CHECK (blkhash_opts_set_queue_depth (opts, *queue_depth) == 0);
  CHECK (blkhash_opts_set_streams (opts, streams) == 0);
  CHECK (blkhash_opts_set_streams (opts, 1025) == EINVAL);

  CHECK (strcmp (blkhash_opts_get_digest_name (opts), args[0]) == 0);
  CHECK (blkhash_opts_get_block_size (opts) == block_size);
  CHECK (blkhash_opts_get_threads (opts) == 3);
  CHECK (blkhash_opts_get_queue_depth (opts) == *queue_depth);
  CHECK (blkhash_opts_get_streams (opts) == streams);

  h = blkhash_new_opts (opts);
  CHECK (h);
  blkhash_opts_free (opts);
  return h;
}

static void
check_digests (void)
{
  size_t count = blkhash_digests (NULL, 0), i = 0;
  const char **names = calloc (count, sizeof *names);

  CHECK (names && blkhash_digests (names, count) == count);
  while (i < count && strcmp (names[i], "sha256") != 0)
    i++;
  CHECK (i < count);
  free (names);

  errno = 0;
  CHECK (blkhash_opts_new ("no such digest") == NULL && errno == EINVAL);
}

int
main (int argc, char **argv)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int md_len;
  unsigned queue_depth = 0;
  size_t size;

  CHECK (argc == 2 || argc == 6);
  check_digests ();

  unsigned char *data = read_file (argv[1], &size);
  struct blkhash *h = argc == 2 ? blkhash_new ()
                                : new_hash (argv + 2, &queue_depth);

  CHECK (h);
  if (queue_depth == 0) {
    errno = 0;
    CHECK (blkhash_aio_completion_fd (h) == -1 && errno == ENOTSUP);
  }
  hash_data (h, data, size, queue_depth);
  CHECK (blkhash_final (h, md, &md_len) == 0);
  CHECK (blkhash_final (h, md, &md_len) == EINVAL);
  CHECK (blkhash_update (h, data, size) == EINVAL);
  blkhash_free (h);
  blkhash_free (NULL);
  free (data);

  CHECK (md_len <= sizeof md);
  for (unsigned i = 0; i < md_len; i++)
    printf ("%02x", md[i]);
  printf ("\n");
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the hash of standard input, from an event loop:
 *
 *     blkhash-aio < FILE
 *
 * The loop reads into one buffer while the library hashes the others in
 * place.  Each buffer belongs to one of the two at any time.
 */

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <blkhash.h>

#define QUEUE_DEPTH 8

static struct buffer {
  struct buffer *next;          /* in the list of free buffers */
  unsigned char data[256 * 1024];
} buffers[QUEUE_DEPTH], *free_buffers;

static void
check (int err, const char *what)
{
  if (err) {
    fprintf (stderr, "blkhash-aio: %s: %s\n", what, strerror (err));
    exit (EXIT_FAILURE);
  }
}

/* Reclaim the buffers that were hashed.  Drain first: a later completion makes
 * the descriptor readable again, so no wake-up is lost.
 */
static void
reap (struct blkhash *h, int completion_fd)
{
  struct blkhash_completion done[QUEUE_DEPTH];
  uint64_t drain;

  if (read (completion_fd, &drain, sizeof drain) == -1 &&
      errno != EAGAIN && errno != EINTR)
    check (errno, "completion fd");

  int n = blkhash_aio_completions (h, done, QUEUE_DEPTH);

  check (n < 0 ? -n : 0, "blkhash_aio_completions");
  for (int i = 0; i < n; i++) {
    struct buffer *b = done[i].user_data;

    check (done[i].error, "blkhash_aio_update");
    b->next = free_buffers;
    free_buffers = b;
  }
}

/* Fill a buffer and submit it.  Returns 0 at the end of the input. */
static int
submit (struct blkhash *h)
{
  ssize_t n = read (STDIN_FILENO, free_buffers->data,
                    sizeof free_buffers->data);

  if (n == -1 && (errno == EINTR || errno == EAGAIN))
    return 1;
  check (n == -1 ? errno : 0, "standard input");
  if (n == 0)
    return 0;

  struct buffer *b = free_buffers;

  free_buffers = b->next;
  check (blkhash_aio_update (h, b->data, n, b), "blkhash_aio_update");
  return 1;
}

static struct blkhash *
new_hash (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  check (opts ? 0 : errno, "blkhash_opts_new");
  check (blkhash_opts_set_queue_depth (opts, QUEUE_DEPTH), "queue depth");

  struct blkhash *h = blkhash_new_opts (opts);

  check (h ? 0 : errno, "blkhash_new_opts");
  blkhash_opts_free (opts);
  return h;
}

int
main (void)
{
  struct blkhash *h = new_hash ();
  int completion_fd = blkhash_aio_completion_fd (h);

  for (int i = 0; i < QUEUE_DEPTH; i++) {
    buffers[i].next = free_buffers;
    free_buffers = &buffers[i];
  }

  for (int more = 1; more;) {
    struct pollfd fds[2] = {
      { .fd = free_buffers ? STDIN_FILENO : -1, .events = POLLIN },
      { .fd = completion_fd, .events = POLLIN },
    };

    if (poll (fds, 2, -1) == -1 && errno != EINTR)
      check (errno, "poll");
    if (fds[1].revents)
      reap (h, completion_fd);
    if (fds[0].revents)
      more = submit (h);
  }

  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int len;

  check (blkhash_final (h, md, &len), "blkhash_final"); /* waits for the rest */
  blkhash_free (h);
  for (unsigned int i = 0; i < len; i++)
    printf ("%02x", md[i]);
  printf ("\n");
  if (fflush (stdout) == EOF || ferror (stdout)) {
    perror ("standard output");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

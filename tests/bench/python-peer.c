/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What bench-python measures with the Python module, in C.  bench-python loads
 * it as a library: so both use the same memory, and the same libblkhash, which
 * has measured its kernels once.
 *
 * COUNT buffers of LEN bytes each, those of the array BUFFERS, which has
 * NR_BUFFERS, in turn, are hashed by THREADS threads.  The functions return the
 * seconds, or a negative number if a call failed.
 */

#include <config.h>

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"

#include "clock.h"

#define MAX_THREADS 64

double python_peer_update (const struct blkhash_opts *opts,
                           const unsigned char **buffers, size_t nr_buffers,
                           size_t len, size_t count);
double python_peer_put (const struct blkhash_opts *opts,
                        const unsigned char **buffers, size_t nr_buffers,
                        size_t len, size_t count, unsigned threads);

/* The number of threads is an option. */
double
python_peer_update (const struct blkhash_opts *opts,
                    const unsigned char **buffers, size_t nr_buffers,
                    size_t len, size_t count)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  double start = seconds_now ();
  struct blkhash *h = blkhash_new_opts (opts);
  int err = h ? 0 : -1;
  size_t i;

  for (i = 0; i < count && err == 0; i++)
    err = blkhash_update (h, buffers[i % nr_buffers], len);
  if (err == 0)
    err = blkhash_final (h, md, NULL);
  blkhash_free (h);
  return err ? -1 : seconds_now () - start;
}

struct part {
  struct blkhash_leaves *leaves;
  const unsigned char **buffers;
  size_t nr_buffers, len, first, last;
  int err;
};

static void *
put_part (void *opaque)
{
  struct part *part = opaque;
  size_t i;

  for (i = part->first; i < part->last && part->err == 0; i++)
    part->err = blkhash_leaves_data (part->leaves,
                                     part->buffers[i % part->nr_buffers],
                                     part->len, (uint64_t) i * part->len);
  return NULL;
}

double
python_peer_put (const struct blkhash_opts *opts,
                 const unsigned char **buffers, size_t nr_buffers,
                 size_t len, size_t count, unsigned threads)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct part parts[MAX_THREADS];
  pthread_t ids[MAX_THREADS];
  double start = seconds_now ();
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (opts, (uint64_t) count * len, 0);
  int err = leaves && threads <= MAX_THREADS ? 0 : -1;
  unsigned i, started = 0;

  while (started < threads && err == 0) {
    i = started;
    parts[i] = (struct part) {
      .leaves = leaves, .buffers = buffers, .nr_buffers = nr_buffers,
      .len = len, .first = count * i / threads,
      .last = count * (i + 1) / threads
    };
    err = pthread_create (&ids[i], NULL, put_part, &parts[i]);
    started += err == 0;
  }
  for (i = 0; i < started; i++) {
    pthread_join (ids[i], NULL);
    err = err ? err : parts[i].err;
  }
  if (err == 0)
    err = blkhash_leaves_fold (leaves, md, NULL);
  blkhash_leaves_free (leaves);
  return err ? -1 : seconds_now () - start;
}

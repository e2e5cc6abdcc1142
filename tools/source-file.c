/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A raw image in a regular file or on a block device.
 *
 * Each thread takes the next range from the cursor, reads it into a buffer of
 * its own, and hands the buffer to the leaf table, which hashes it in that
 * thread.  There is no queue: the data stays in the cache of one core.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "cursor.h"
#include "error.h"
#include "file.h"
#include "file-read.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "source.h"

#define READ_SIZE (1024 * 1024) /* bytes: a buffer stays in the L2 cache */
#define MAX_THREADS 128

struct reader {
  int fd;
  uint64_t start;               /* where the image starts in the file */
  enum read_mode mode;
  struct blkhash_leaves *leaves;
  struct progress progress;

  pthread_mutex_t lock;         /* protects what follows */
  struct cursor cursor;
  uint64_t hole;                /* bytes in ranges that were not read */
  struct error error;           /* the first of any thread; stops all */
};

/* ---- Extents ---- */

/* Where the file system cannot tell, everything is data. */
static int
file_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                struct error *error)
{
#ifdef SEEK_HOLE
  const struct reader *reader = opaque;
  off_t at = reader->start + offset;
  off_t data = lseek (reader->fd, at, SEEK_DATA);
  off_t hole;

  extent->len = UINT64_MAX;
  extent->zero = false;
  if (data == -1 && errno == ENXIO &&
      lseek (reader->fd, 0, SEEK_END) < reader->start + reader->cursor.size)
    return error_set (error, "the file was truncated while it was read");
  if (data == -1) {
    extent->zero = errno == ENXIO; /* no data up to the end */
    return 0;
  }
  if (data > at) {
    extent->len = data - at;
    extent->zero = true;
    return 0;
  }
  hole = lseek (reader->fd, at, SEEK_HOLE);
  if (hole > at)
    extent->len = hole - at;
#else
  (void) opaque; (void) offset; (void) error;
  extent->len = UINT64_MAX;
  extent->zero = false;
#endif
  return 0;
}

/* ---- Threads ---- */

static int
next_range (struct reader *reader, struct range *range)
{
  SCOPED_LOCK (&reader->lock);

  if (error_is_set (&reader->error))
    return -1;
  return cursor_next (&reader->cursor, range, &reader->error);
}

static void
set_error (struct reader *reader, int err, const char *what,
           const struct range *range)
{
  unsigned long long offset = range->offset;
  SCOPED_LOCK (&reader->lock);

  if (err == -1)
    error_set (&reader->error, "%s at offset %llu: the file was truncated "
               "while it was read", what, offset);
  else
    error_errno (&reader->error, err, "%s at offset %llu", what, offset);
}

static int
do_range (struct reader *reader, const struct range *range, void *buf)
{
  int err;

  if (range->zero) {
    err = blkhash_leaves_zero (reader->leaves, range->len, range->offset);
    if (err)
      goto hash_error;
    SCOPED_LOCK (&reader->lock);
    reader->hole += range->len;
    return 0;
  }
  err = file_read (reader->fd, reader->mode, buf, range->len,
                   reader->start + range->offset);
  if (err) {
    set_error (reader, err, "cannot read", range);
    return -1;
  }
  err = blkhash_leaves_data (reader->leaves, buf, range->len, range->offset);
  if (err == 0)
    return 0;

 hash_error:
  set_error (reader, err, "cannot hash", range);
  return -1;
}

static void *
run_thread (void *opaque)
{
  struct reader *reader = opaque;
  struct range range;
  void *buf;
  int err;

  err = posix_memalign (&buf, READ_ALIGN, reader->cursor.max_read);
  if (err) {
    SCOPED_LOCK (&reader->lock);
    error_errno (&reader->error, err, "cannot read");
    return NULL;
  }
  while (next_range (reader, &range) == 1) {
    if (do_range (reader, &range, buf) == -1)
      break;
    progress_add (&reader->progress, range.len);
  }
  free (buf);
  return NULL;
}

/* This thread is one of them: a small or empty image needs no other. */
static void
run_threads (struct reader *reader, unsigned count)
{
  pthread_t threads[MAX_THREADS];
  unsigned i, started = 0;

  for (i = 1; i < count; i++)
    if (pthread_create (&threads[started], NULL, run_thread, reader) == 0)
      started++;
  run_thread (reader);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
}

static unsigned
threads_for (const struct options *options, const struct reader *reader)
{
  uint64_t ranges = reader->cursor.size / reader->cursor.max_read + 1;
  unsigned threads = blkhash_opts_get_threads (options->hash);

  return ranges < threads ? ranges : threads;
}

static int
read_and_hash (const struct options *options, struct reader *reader,
               uint64_t size, struct sum *sum)
{
  uint64_t align = blkhash_opts_get_block_size (options->hash);

  /* Direct I/O needs aligned offsets; blocks can be smaller than that. */
  if (align < READ_ALIGN)
    align = READ_ALIGN;
  cursor_init (&reader->cursor, size, align, READ_SIZE,
               options->extents ? file_extent_at : NULL, reader);

  reader->leaves = blkhash_leaves_new (options->hash, size,
                                       BLKHASH_LEAVES_ONCE);
  if (!reader->leaves)
    return error_errno (&reader->error, errno, "cannot hash");
  run_threads (reader, threads_for (options, reader));
  if (!error_is_set (&reader->error))
    source_fold (reader->leaves, size, reader->hole, sum, &reader->error);
  blkhash_leaves_free (reader->leaves);
  return error_is_set (&reader->error) ? -1 : 0;
}

/* ---- The file ---- */

/* A second description of the device, for direct I/O.  -1 if there can be
 * none; then it is read through the cache.
 */
static int
open_direct (int fd)
{
#if defined O_DIRECT && defined __linux__
  char path[64];

  snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, O_RDONLY | O_DIRECT | O_CLOEXEC);
#else
  (void) fd;
  return -1;
#endif
}

int
source_file_hash (const struct options *options, const struct file *file,
                  uint64_t start, struct sum *sum, struct error *error)
{
  struct reader reader = {
    .fd = file->fd, .start = start, .mode = READ_CACHED
  };
  uint64_t size = file->size > start ? file->size - start : 0;
  bool block = file_is_block_device (file);
  int direct = -1, r;

  if (!options->cache && !block)
    reader.mode = file_read_mode (file->fd);
  if (!options->cache && block && start % READ_ALIGN == 0)
    direct = open_direct (file->fd);
  if (direct != -1)
    reader.fd = direct;

  strcpy (sum->format, "raw");
  pthread_mutex_init (&reader.lock, NULL);
  progress_init (&reader.progress, options->progress_fd,
                 options->progress_bar, size);
  r = read_and_hash (options, &reader, size, sum);
  if (r == 0)
    r = file_check_unchanged (file, options->force_share, &reader.error);
  progress_end (&reader.progress, r == 0);
  pthread_mutex_destroy (&reader.lock);
  if (direct != -1)
    close (direct);
  /* Looking for holes moved it; whoever reads on from here finds the end. */
  lseek (file->fd, start + size, SEEK_SET);
  if (r == -1)
    *error = reader.error;
  return r;
}

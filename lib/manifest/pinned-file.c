/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file of which every byte is the same whenever it is read.
 *
 * Pieces that were read again are cached, and the least recently used one is
 * replaced.  The lock is held while a piece is read: threads that need the same
 * one then find it.  Files are not mapped, because a file that shrinks would
 * end the process.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "digest/digest.h"
#include "manifest/pinned-file.h"

int
pinned_file_init (struct pinned_file *file, int fd)
{
  *file = (struct pinned_file) { .fd = fd };
  file->cache = (struct lru) { file->pieces, PINNED_CACHE, 0 };
  pthread_mutex_init (&file->lock, NULL);
  file->digest = digest_create ("sha256");
  if (!file->digest)
    return errno;
  file->ctx = digest_ctx_create (file->digest);
  return file->ctx ? 0 : ENOMEM;
}

void
pinned_file_destroy (struct pinned_file *file)
{
  size_t i;

  for (i = 0; i < PINNED_CACHE; i++)
    free (file->pieces[i].bytes);
  free (file->sums);
  digest_ctx_free (file->ctx);
  digest_free (file->digest);
  pthread_mutex_destroy (&file->lock);
}

/* ---- The first time ---- */

static int
end_piece (struct pinned_file *file)
{
  size_t piece = (file->size - 1) / PINNED_PIECE;

  if (piece == file->room) {
    size_t room = MAX (2 * file->room, 64);
    void *sums = realloc (file->sums, room * sizeof file->sums[0]);

    if (!sums)
      return ENOMEM;
    file->sums = sums;
    file->room = room;
  }
  return digest_final (file->ctx, file->sums[piece]);
}

/* Add bytes of one piece. */
static int
add (struct pinned_file *file, const void *bytes, size_t len)
{
  int err = 0;

  if (file->size % PINNED_PIECE == 0)
    err = digest_init (file->ctx);
  if (err == 0)
    err = digest_update (file->ctx, bytes, len);
  file->size += len;
  if (err == 0 && file->size % PINNED_PIECE == 0)
    err = end_piece (file);
  return err;
}

void
pinned_file_add (struct pinned_file *file, const void *bytes, size_t len)
{
  while (len > 0 && file->err == 0) {
    size_t n = MIN (len, PINNED_PIECE - file->size % PINNED_PIECE);

    file->err = add (file, bytes, n);
    bytes = (const char *) bytes + n;
    len -= n;
  }
}

int
pinned_file_finish (struct pinned_file *file)
{
  if (file->err == 0 && file->size % PINNED_PIECE > 0)
    file->err = end_piece (file);
  return file->err;
}

/* ---- Again ---- */

static int
read_piece (struct pinned_file *file, uint64_t number, unsigned char *bytes)
{
  uint64_t offset = number * PINNED_PIECE;
  size_t done = 0, len = MIN (PINNED_PIECE, file->size - offset);
  unsigned char sum[32];
  struct stat st;

  if (fstat (file->fd, &st) == -1)
    return errno;
  if ((uint64_t) st.st_size != file->size)
    return ESTALE;
  while (done < len) {
    ssize_t n = pread (file->fd, bytes + done, len - done, offset + done);

    if (n == -1 && errno != EINTR)
      return errno;
    if (n == 0)
      return ESTALE;
    if (n > 0)
      done += n;
  }
  if (digest_init (file->ctx) != 0 ||
      digest_update (file->ctx, bytes, len) != 0 ||
      digest_final (file->ctx, sum) != 0)
    return EIO;
  return memcmp (sum, file->sums[number], sizeof sum) == 0 ? 0 : ESTALE;
}

static int
get_piece_locked (struct pinned_file *file, uint64_t number,
                  const unsigned char **bytes)
{
  struct lru_entry *entry = lru_find (&file->cache, number);
  int err;

  if (!lru_has (entry, number)) {
    entry->used = 0;
    if (!entry->bytes)
      entry->bytes = malloc (PINNED_PIECE);
    if (!entry->bytes)
      return ENOMEM;
    err = read_piece (file, number, entry->bytes);
    if (err)
      return err;
  }
  lru_use (&file->cache, entry, number);
  *bytes = entry->bytes;
  return 0;
}

int
pinned_file_read (struct pinned_file *file, void *buf, size_t len,
                  uint64_t offset)
{
  SCOPED_LOCK (&file->lock);

  while (len > 0) {
    size_t skip = offset % PINNED_PIECE, n = MIN (len, PINNED_PIECE - skip);
    const unsigned char *bytes;
    int err = get_piece_locked (file, offset / PINNED_PIECE, &bytes);

    if (err)
      return err;
    memcpy (buf, bytes + skip, n);
    buf = (char *) buf + n;
    len -= n;
    offset += n;
  }
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pieces of the last calls of pinned_file_read are in a cache with LRU
 * replacement.  The lock of the cache is not held while a piece is read and
 * hashed, so other threads do not wait for this.  Two threads that need the
 * same piece may both read it.  The file is not mapped, because access to a
 * mapping beyond the end of a truncated file ends the process with SIGBUS.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util.h"
#include "construction/leaf.h"
#include "digest/digest.h"
#include "manifest/pinned-file.h"

#define GROUP LEAF_GROUP        /* pieces that are hashed at a time */

int
pinned_file_init (struct pinned_file *file, int fd)
{
  *file = (struct pinned_file) { .fd = fd };
  file->cache = (struct lru) { file->pieces, PINNED_CACHE, 0 };
  pthread_mutex_init (&file->lock, NULL);
  file->digest = digest_create ("sha256");
  if (!file->digest)
    return errno;
  file->engine = leaf_engine_create (file->digest, PINNED_PIECE);
  if (!file->engine)
    return errno;
  file->tail = malloc (GROUP * PINNED_PIECE);
  return file->tail ? 0 : ENOMEM;
}

void
pinned_file_destroy (struct pinned_file *file)
{
  size_t i;

  for (i = 0; i < PINNED_CACHE; i++)
    free (file->pieces[i].bytes);
  free (file->tail);
  free (file->sums);
  leaf_engine_free (file->engine);
  digest_free (file->digest);
  pthread_mutex_destroy (&file->lock);
}

/* Store in SUMS the digests of the pieces in BYTES.  There are at most GROUP
 * pieces, and only the last one can be shorter than PINNED_PIECE.
 */
static int
hash_pieces (const struct pinned_file *file, const unsigned char *bytes,
             size_t len, unsigned char (*sums)[PINNED_SUM])
{
  struct leaf_block blocks[GROUP];
  size_t count = 0, i;
  int err;

  for (i = 0; i < len; i += PINNED_PIECE, count++)
    blocks[count] = (struct leaf_block) {
      .data = bytes + i, .len = MIN (len - i, PINNED_PIECE), .md = sums[count],
    };
  err = leaf_batch (file->engine, blocks, count);
  for (i = 0; err == 0 && i < count; i++)
    if (blocks[i].zero)
      err = leaf_hash_zeros (file->engine, blocks[i].len, sums[i]);
  return err;
}

/* ---- The first read ---- */

/* Append the digests of the pieces in TAIL to SUMS. */
static int
add_sums (struct pinned_file *file)
{
  uint64_t pieces = DIV_ROUND_UP (file->size, PINNED_PIECE);
  uint64_t first = (file->size - file->tail_len) / PINNED_PIECE;

  if (pieces > file->room) {
    size_t room = MAX (2 * file->room, GROUP);
    void *sums = realloc (file->sums, room * sizeof file->sums[0]);

    if (!sums)
      return ENOMEM;
    file->sums = sums;
    file->room = room;
  }
  return hash_pieces (file, file->tail, file->tail_len, file->sums + first);
}

void
pinned_file_add (struct pinned_file *file, const void *bytes, size_t len)
{
  while (len > 0 && file->err == 0) {
    size_t n = MIN (len, GROUP * PINNED_PIECE - file->tail_len);

    memcpy (file->tail + file->tail_len, bytes, n);
    file->tail_len += n;
    file->size += n;
    bytes = (const char *) bytes + n;
    len -= n;
    if (file->tail_len == GROUP * PINNED_PIECE) {
      file->err = add_sums (file);
      file->tail_len = 0;
    }
  }
}

static void
trim_sums (struct pinned_file *file)
{
  size_t pieces = DIV_ROUND_UP (file->size, PINNED_PIECE);
  void *sums = realloc (file->sums, pieces * sizeof file->sums[0]);

  if (sums)
    file->sums = sums;
}

int
pinned_file_finish (struct pinned_file *file)
{
  if (file->err == 0 && file->tail_len > 0)
    file->err = add_sums (file);
  free (file->tail);
  file->tail = NULL;
  if (file->err == 0 && file->size > 0)
    trim_sums (file);
  return file->err;
}

int
pinned_file_digest (const struct pinned_file *file,
                    unsigned char md[PINNED_SUM])
{
  struct digest_ctx *ctx = digest_ctx_create (file->digest);
  uint64_t pieces = DIV_ROUND_UP (file->size, PINNED_PIECE);
  int err = ctx ? digest_init (ctx) : ENOMEM;

  if (err == 0)
    err = digest_update (ctx, file->sums, pieces * sizeof file->sums[0]);
  if (err == 0)
    err = digest_final (ctx, md);
  digest_ctx_free (ctx);
  return err;
}

/* ---- Later reads ---- */

static int
read_bytes (const struct pinned_file *file, uint64_t offset,
            unsigned char *bytes, size_t len)
{
  size_t done = 0;
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
  return 0;
}

/* Read piece NUMBER, verify it, and set *LEN to its length. */
static int
read_piece (const struct pinned_file *file, uint64_t number,
            unsigned char *bytes, size_t *len)
{
  uint64_t offset = number * PINNED_PIECE;
  unsigned char sum[1][PINNED_SUM];
  int err;

  *len = MIN (PINNED_PIECE, file->size - offset);
  err = read_bytes (file, offset, bytes, *len);
  if (err == 0)
    err = hash_pieces (file, bytes, *len, sum);
  if (err)
    return err;
  return memcmp (sum, file->sums[number], PINNED_SUM) == 0 ? 0 : ESTALE;
}

/* If piece NUMBER is in the cache, copy LEN bytes, from its byte SKIP on, to
 * BUF, and return true.
 */
static bool
read_cached (struct pinned_file *file, uint64_t number, void *buf, size_t len,
             size_t skip)
{
  SCOPED_LOCK (&file->lock);
  struct lru_entry *entry = lru_find (&file->cache, number);

  if (!lru_has (entry, number))
    return false;
  memcpy (buf, entry->bytes + skip, len);
  lru_use (&file->cache, entry, number);
  return true;
}

/* Add piece NUMBER to the cache, unless there is no memory for it. */
static void
add_cached (struct pinned_file *file, uint64_t number,
            const unsigned char *bytes, size_t len)
{
  SCOPED_LOCK (&file->lock);
  struct lru_entry *entry = lru_find (&file->cache, number);

  if (!entry->bytes)
    entry->bytes = malloc (PINNED_PIECE);
  if (!entry->bytes)
    return;
  memcpy (entry->bytes, bytes, len);
  lru_use (&file->cache, entry, number);
}

int
pinned_file_read (struct pinned_file *file, void *buf, size_t len,
                  uint64_t offset)
{
  while (len > 0) {
    size_t skip = offset % PINNED_PIECE, n = MIN (len, PINNED_PIECE - skip);
    uint64_t number = offset / PINNED_PIECE;

    if (!read_cached (file, number, buf, n, skip)) {
      unsigned char bytes[PINNED_PIECE];
      size_t size;
      int err = read_piece (file, number, bytes, &size);

      if (err)
        return err;
      memcpy (buf, bytes + skip, n);
      add_cached (file, number, bytes, size);
    }
    buf = (char *) buf + n;
    len -= n;
    offset += n;
  }
  return 0;
}

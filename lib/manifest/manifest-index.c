/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reader of manifests validates the file, and every byte that it reads is
 * pinned (see struct pinned_file).  The file is divided into sections of
 * MARK_DISTANCE bytes, and the first record that begins in a section gets a
 * mark.  A look-up of a block begins at the last mark that is not beyond the
 * block, and skips records by the numbers in their heads, which were validated
 * and are pinned.  All records that a look-up reads begin in the same section:
 * the first one in a later section would have a mark, where the look-up would
 * have begun.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blkhash-manifest.h"
#include "common/lru.h"
#include "common/util.h"
#include "construction/leaf.h"
#include "digest/digest.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-index.h"
#include "manifest/manifest-reader.h"

/* ---- The pinned file ----
 *
 * A file whose content must stay the same: a changed byte is never returned.
 *
 * The caller reads the file once, and passes all bytes to pinned_file_add,
 * which hashes each piece.  A piece that pinned_file_read reads later must have
 * the same digest.
 *
 * The pieces of the last calls of pinned_file_read are in a cache with LRU
 * replacement.  The lock of the cache is not held while a piece is read and
 * hashed, so other threads do not wait for this.  Two threads that need the
 * same piece may both read it.  The file is not mapped, because access to a
 * mapping beyond the end of a truncated file ends the process with SIGBUS.
 */

#define GROUP LEAF_GROUP        /* pieces that are hashed at a time */

struct pinned_file {
  int fd;
  uint64_t size;                /* bytes that were pinned */
  struct digest *digest;
  struct leaf_engine *engine;
  unsigned char (*sums)[MANIFEST_INDEX_DIGEST_SIZE]; /* array of the digests of
                                 * the pieces */
  size_t room;                  /* number of digests that fit in SUMS */
  unsigned char *tail;          /* the last added bytes, not hashed yet;
                                 * freed by pinned_file_finish */
  size_t tail_len;
  int err;                      /* the first error of pinned_file_add */

  pthread_mutex_t lock;         /* protects the fields below; those above are
                                 * constant after pinned_file_finish */
  struct lru cache;
  struct lru_entry pieces[PINNED_CACHE];
};

/* FD must stay open.  Returns 0, ENOMEM, EIO, or EINVAL if SHA-256 is not
 * available; pinned_file_destroy must be called even after an error.
 */
static int
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

static void
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
             size_t len, unsigned char (*sums)[MANIFEST_INDEX_DIGEST_SIZE])
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

/* Pin the next LEN bytes of the file.  Only one thread at a time may call it.
 * An error is returned by pinned_file_finish.
 */
static void
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

/* Call this after all bytes of the file were added.  Returns 0, or the first
 * error of pinned_file_add or of this call.
 */
static int
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

/* Store in MD the SHA-256 of the digests of all pieces.  Files with different
 * content have different ones.  Called after pinned_file_finish.  Returns 0,
 * ENOMEM or EIO.
 */
static int
pinned_file_digest (const struct pinned_file *file,
                    unsigned char md[MANIFEST_INDEX_DIGEST_SIZE])
{
  struct digest_ctx *ctx = digest_ctx_create (file->digest);
  uint64_t pieces = DIV_ROUND_UP (file->size, PINNED_PIECE);
  int err = ctx ? digest_message (ctx, file->sums,
                                  pieces * sizeof file->sums[0], md) : ENOMEM;

  digest_ctx_free (ctx);
  return err;
}

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
  unsigned char sum[1][MANIFEST_INDEX_DIGEST_SIZE];
  int err;

  *len = MIN (PINNED_PIECE, file->size - offset);
  err = read_bytes (file, offset, bytes, *len);
  if (err == 0)
    err = hash_pieces (file, bytes, *len, sum);
  if (err)
    return err;
  return memcmp (sum, file->sums[number], sizeof sum) == 0 ? 0 : ESTALE;
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

/* Read to BUF the LEN bytes at OFFSET, which must have been added.  Thread-safe
 * after pinned_file_finish.  Returns 0; ESTALE if the file has changed; ENOMEM,
 * EIO, or an error of pread(2) or fstat(2).
 */
static int
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

/* ---- The index ---- */

/* In bytes.  Dozens of records begin in a section if they have few blocks.  The
 * memory for the marks is at most 1/64 of the size of the file, but at least
 * 1 KiB.
 */
#define MARK_DISTANCE 2048

/* A record at which a look-up can begin. */
struct mark {
  uint64_t first;               /* its first block */
  uint64_t offset;              /* in the file */
};

struct manifest_index {
  struct pinned_file file;
  struct blkhash_manifest_reader *reader; /* NULL after the load */
  manifest_poll_function *poll; /* or NULL; called by the load */
  void *poll_opaque;
  struct blkhash_opts *opts;
  uint64_t size;                /* of the image, bytes */
  size_t leaf_size;
  unsigned char sum[BLKHASH_MAX_MD_SIZE];
  struct mark *marks;           /* ordered */
  size_t count, room;           /* of MARKS */
};

static void
pin (void *opaque, const void *bytes, size_t len)
{
  struct manifest_index *index = opaque;

  pinned_file_add (&index->file, bytes, len);
}

static int
poll_caller (void *opaque)
{
  const struct manifest_index *index = opaque;

  return index->poll ? index->poll (index->poll_opaque) : 0;
}

static int
open_reader (struct manifest_index *index, int fd, char *reason, size_t size)
{
  struct manifest_observer observer = { pin, poll_caller, index };
  struct stat st;
  int err = fstat (fd, &st) == -1 ? errno : S_ISREG (st.st_mode) ? 0 : ESPIPE;

  if (err == 0)
    err = pinned_file_init (&index->file, fd);
  if (err) {
    snprintf (reason, size, "%s", err == ESPIPE ? "not a regular file"
                                                : strerror (err));
    return err;
  }
  index->reader =
    manifest_reader_new_observed (fd, 0, &observer, reason, size);
  if (!index->reader)
    return errno;
  index->size = blkhash_manifest_reader_size (index->reader);
  index->opts =
    blkhash_opts_copy (blkhash_manifest_reader_opts (index->reader));
  if (!index->opts) {
    snprintf (reason, size, "%s", strerror (ENOMEM));
    return ENOMEM;
  }
  index->leaf_size = blkhash_opts_get_digest_size (index->opts);
  return 0;
}

void
manifest_index_free (struct manifest_index *index)
{
  if (!index)
    return;
  blkhash_manifest_reader_free (index->reader);
  blkhash_opts_free (index->opts);
  pinned_file_destroy (&index->file);
  free (index->marks);
  free (index);
}

struct manifest_index *
manifest_index_new (int fd, char *reason, size_t size)
{
  struct manifest_index *index = calloc (1, sizeof *index);
  int err;

  if (!index) {
    snprintf (reason, size, "%s", strerror (ENOMEM));
    return NULL;
  }
  err = open_reader (index, fd, reason, size);
  if (err == 0)
    return index;
  manifest_index_free (index);
  errno = err;
  return NULL;
}

const struct blkhash_opts *
manifest_index_opts (const struct manifest_index *index)
{
  return index->opts;
}

uint64_t
manifest_index_size (const struct manifest_index *index)
{
  return index->size;
}

const unsigned char *
manifest_index_sum (const struct manifest_index *index)
{
  return index->sum;
}

/* ---- Loading ---- */

void
manifest_index_set_poll (struct manifest_index *index,
                         manifest_poll_function *poll, void *opaque)
{
  index->poll = poll;
  index->poll_opaque = opaque;
}

void
manifest_index_skip_sum (struct manifest_index *index)
{
  manifest_reader_skip_sum (index->reader);
}

static uint64_t
record_size (const struct manifest_index *index, uint64_t count, bool zeros)
{
  return MANIFEST_HEAD_SIZE + MANIFEST_TAIL_SIZE +
    (zeros ? 0 : count * index->leaf_size);
}

/* Mark the record at OFFSET if it is the first one in its section. */
static int
add_mark (struct manifest_index *index, uint64_t first, uint64_t offset)
{
  if (index->count > 0 &&
      index->marks[index->count - 1].offset / MARK_DISTANCE ==
      offset / MARK_DISTANCE)
    return 0;
  if (index->count == index->room) {
    size_t room = MAX (2 * index->room, 64);
    struct mark *marks = realloc (index->marks, room * sizeof *marks);

    if (!marks)
      return ENOMEM;
    index->marks = marks;
    index->room = room;
  }
  index->marks[index->count++] = (struct mark) { first, offset };
  return 0;
}

static int
read_all (struct manifest_index *index, manifest_run_function *function,
          void *opaque)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (index->reader, &run)) == 0) {
    uint64_t size = record_size (index, run.count, !run.leaves);
    uint64_t end = manifest_reader_offset (index->reader);

    err = add_mark (index, run.first, end - size);
    if (err == 0 && function)
      err = function (opaque, &run);
    if (err)
      return err;
  }
  return err == ENOENT ? 0 : err;
}

int
manifest_index_load (struct manifest_index *index,
                     manifest_run_function *function, void *opaque,
                     char *reason, size_t size)
{
  int err;

  if (!blkhash_manifest_reader_is_complete (index->reader)) {
    snprintf (reason, size, "it has only a part of an image");
    return ENODATA;
  }
  err = read_all (index, function, opaque);
  if (err) {
    snprintf (reason, size, "%s", err == ENOMEM ? strerror (err) :
              blkhash_manifest_reader_error (index->reader));
    return err;
  }
  err = pinned_file_finish (&index->file);
  if (err) {
    snprintf (reason, size, "%s", strerror (err));
    return err;
  }
  blkhash_manifest_reader_sum (index->reader, index->sum, NULL);
  blkhash_manifest_reader_free (index->reader);
  index->reader = NULL;
  return 0;
}

int
manifest_index_digest (const struct manifest_index *index,
                       unsigned char md[MANIFEST_INDEX_DIGEST_SIZE])
{
  return pinned_file_digest (&index->file, md);
}

/* ---- Looking up ---- */

/* Read the head of the record at *OFFSET in the file.  Stores the run of its
 * blocks in *RUN, without their leaves, and adds the size of the record to
 * *OFFSET.
 */
static int
read_head (struct manifest_index *index, uint64_t *offset,
           struct blkhash_manifest_run *run)
{
  unsigned char head[MANIFEST_HEAD_SIZE];
  bool zeros;
  int err = pinned_file_read (&index->file, head, sizeof head, *offset);

  if (err)
    return err;
  run->first = manifest_get (head, 8);
  run->count = manifest_get (head + 8, 8);
  zeros = run->count & MANIFEST_ZERO_RUN;
  run->count &= ~MANIFEST_ZERO_RUN;
  run->leaves = zeros ? NULL : index->sum; /* any address that is not NULL */
  run->leaf_size = index->leaf_size;
  *offset += record_size (index, run->count, zeros);
  return 0;
}

/* Returns the last mark that is not beyond BLOCK. */
static const struct mark *
find_mark (const struct manifest_index *index, uint64_t block)
{
  size_t low = 0, high = index->count;

  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;

    if (index->marks[middle].first <= block)
      low = middle;
    else
      high = middle;
  }
  return &index->marks[low];
}

/* Find the record with BLOCK.  Stores its offset in the file in *OFFSET, and
 * the run of all its blocks in *RUN, without their leaves.
 */
static int
find_record (struct manifest_index *index, uint64_t block, uint64_t *offset,
             struct blkhash_manifest_run *run)
{
  uint64_t next = find_mark (index, block)->offset;
  int err;

  do {
    *offset = next;
    err = read_head (index, &next, run);
  } while (err == 0 && block - run->first >= run->count);
  return err;
}

int
manifest_index_each (struct manifest_index *index,
                     manifest_run_function *function, void *opaque)
{
  uint64_t offset = MANIFEST_HEADER_SIZE, end = index->file.size -
    record_size (index, 1, false); /* the end record, with the sum */
  int err = 0;

  while (err == 0 && offset < end) {
    struct blkhash_manifest_run run = { .count = 0 };

    err = read_head (index, &offset, &run);
    if (err == 0)
      err = function (opaque, &run);
  }
  return err;
}

int
manifest_index_get (struct manifest_index *index, uint64_t first, uint64_t max,
                    unsigned char *leaves, struct blkhash_manifest_run *run)
{
  uint64_t offset, skip;
  int err;

  *run = (struct blkhash_manifest_run) { .count = 0 };
  err = find_record (index, first, &offset, run);
  if (err)
    return err;
  skip = first - run->first;
  run->first = first;
  run->count = MIN (run->count - skip, max);
  if (!run->leaves || !leaves)
    return 0;
  run->leaves = leaves;
  return pinned_file_read (&index->file, leaves, run->count * run->leaf_size,
                           offset + MANIFEST_HEAD_SIZE +
                           skip * index->leaf_size);
}

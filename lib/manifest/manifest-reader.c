/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blkhash-manifest.h"
#include "common/util.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-reader.h"
#include "manifest/manifest-sum.h"
#include "manifest/manifest.h"

/* ---- Input ---- */

#define FIRST_SIZE (64 * 1024)  /* initial size of the buffer, bytes */

/* The number of bytes left is known for a regular file only. */
void
manifest_input_init (struct manifest_input *input, int fd)
{
  off_t offset = lseek (fd, 0, SEEK_CUR);
  struct stat st;

  *input = (struct manifest_input) { .fd = fd, .left = UINT64_MAX };
  if (offset != -1 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode))
    input->left = st.st_size > offset ? st.st_size - offset : 0;
}

void
manifest_input_destroy (struct manifest_input *input)
{
  free (input->buf);
}

bool
manifest_input_may_have (const struct manifest_input *input, uint64_t len)
{
  return len <= input->left;
}

/* Make room for more input, because LEN bytes are needed, and fewer are in the
 * buffer.  Its size is at most doubled, so that it grows only as bytes arrive.
 */
static int
make_room (struct manifest_input *input, size_t len)
{
  size_t have = input->end - input->start, size = input->size;
  unsigned char *buf;

  if (have > 0 && input->start > 0)
    memmove (input->buf, input->buf + input->start, have);
  input->start = 0;
  input->end = have;
  if (have < size)
    return 0;
  size = size ? 2 * size : FIRST_SIZE;
  if (size > len && size > FIRST_SIZE)
    size = len;
  buf = realloc (input->buf, size);
  if (!buf)
    return ENOMEM;
  input->buf = buf;
  input->size = size;
  return 0;
}

/* Convert an error of read(2).  File systems can return the values that have a
 * meaning here, for instance EBADMSG if a checksum of their metadata is wrong.
 * The caller would take ENODATA for the end of the input, ENOENT for the end of
 * a valid manifest, and EBADMSG for a damaged one.
 */
static int
read_error (int err)
{
  return err == ENODATA || err == ENOENT || err == EBADMSG ? EIO : err;
}

int
manifest_input_peek (struct manifest_input *input, size_t len,
                     const unsigned char **bytes)
{
  while (input->end - input->start < len) {
    ssize_t n;

    if (input->end == input->size || input->start > 0) {
      int err = make_room (input, len);

      if (err)
        return err;
    }
    n = read (input->fd, input->buf + input->end, input->size - input->end);
    if (n == -1 && errno != EINTR)
      return read_error (errno);
    if (n == 0)
      return ENODATA;
    if (n > 0 && input->observer.read)
      input->observer.read (input->observer.opaque, input->buf + input->end, n);
    if (n > 0)
      input->end += n;
  }
  *bytes = input->buf + input->start;
  return 0;
}

void
manifest_input_take (struct manifest_input *input, size_t len)
{
  input->start += len;
  input->offset += len;
  if (input->left != UINT64_MAX)
    input->left -= MIN (len, input->left);
}

/* ---- Errors ---- */

const char *
blkhash_manifest_reader_error (const struct blkhash_manifest_reader *r)
{
  return r->error;
}

int
manifest_reader_set_error (struct blkhash_manifest_reader *r, int err,
                           const char *fmt, ...)
{
  va_list args;

  va_start (args, fmt);
  vsnprintf (r->error, sizeof r->error, fmt, args);
  va_end (args);
  return err;
}

static int
manifest_reader_set_errno (struct blkhash_manifest_reader *r, int err)
{
  return manifest_reader_set_error (r, err, "%s", strerror (err));
}

int
manifest_reader_fail (struct blkhash_manifest_reader *r, int err)
{
  r->err = manifest_reader_set_errno (r, err);
  return err;
}

/* ---- The header ---- */

static int
prepare (struct blkhash_manifest_reader *r)
{
  int err = manifest_zeros_init (&r->zeros, r->header.opts, r->header.size);

  if (err)
    return err;
  r->leaf_size = r->zeros.leaf_size;
  r->next = r->header.first;
  r->end = r->header.first + r->header.count;
  if (r->flags || !manifest_is_complete (&r->header))
    return 0;
  err = manifest_zeros_hash (&r->zeros);
  if (err)
    return err;
  r->sum = manifest_sum_create (r->header.opts, &r->zeros);
  return r->sum ? 0 : errno;
}

static int
read_header (struct blkhash_manifest_reader *r)
{
  const unsigned char *bytes;
  const char *why;
  int err = manifest_input_peek (&r->input, MANIFEST_HEADER_SIZE, &bytes);

  if (err == ENODATA)
    return manifest_reader_set_error (r, EBADMSG, "too short to be a "
                                      "blkhash manifest");
  if (err)
    return manifest_reader_set_errno (r, err);
  err = manifest_header_parse (bytes, &r->header, &why);
  if (err == ENOMEM)
    return manifest_reader_set_errno (r, err);
  if (err)
    return manifest_reader_set_error (r, err, "%s", why);
  r->header_crc = crc32c (0, bytes, MANIFEST_HEADER_SIZE);
  manifest_input_take (&r->input, MANIFEST_HEADER_SIZE);
  err = prepare (r);
  return err ? manifest_reader_set_errno (r, err) : 0;
}

void
blkhash_manifest_reader_free (struct blkhash_manifest_reader *r)
{
  int err = errno;

  if (!r)
    return;
  manifest_sum_free (r->sum);
  blkhash_opts_free (r->header.opts);
  manifest_input_destroy (&r->input);
  free (r);
  errno = err;
}

struct blkhash_manifest_reader *
manifest_reader_new_observed (int fd, unsigned flags,
                              const struct manifest_observer *observer,
                              char *reason, size_t size)
{
  struct blkhash_manifest_reader *r = NULL;
  int err = flags & ~BLKHASH_MANIFEST_NO_SUM ? EINVAL : 0;

  if (err == 0) {
    r = calloc (1, sizeof *r);
    err = r ? 0 : ENOMEM;
  }
  if (r) {
    r->flags = flags;
    manifest_input_init (&r->input, fd);
    if (observer)
      r->input.observer = *observer;
    err = read_header (r);
  }
  if (err == 0)
    return r;
  if (reason)
    snprintf (reason, size, "%s", r ? r->error : strerror (err));
  blkhash_manifest_reader_free (r);
  errno = err;
  return NULL;
}

struct blkhash_manifest_reader *
blkhash_manifest_reader_new (int fd, unsigned flags, char *reason, size_t size)
{
  return manifest_reader_new_observed (fd, flags, NULL, reason, size);
}

void
manifest_reader_skip_sum (struct blkhash_manifest_reader *r)
{
  manifest_sum_free (r->sum);
  r->sum = NULL;
}

/* ---- Records ---- */

/* Hashing so many leaves takes a few milliseconds.  A record of data never has
 * more, but one of zeros can have any number.
 */
#define POLL_BLOCKS MANIFEST_MAX_LEAVES

/* Report an error of the record that begins at the current offset. */
static int
bad_record (struct blkhash_manifest_reader *r, const char *what)
{
  return manifest_reader_set_error (r, EBADMSG, "the record at byte %" PRIu64
                                    " %s", r->input.offset, what);
}

static int
damaged (struct blkhash_manifest_reader *r, const char *what)
{
  return manifest_reader_set_error (r, EBADMSG, "%s", what);
}

static int
cut_off (struct blkhash_manifest_reader *r)
{
  return damaged (r, "the manifest is cut off");
}

static int
input_failed (struct blkhash_manifest_reader *r, int err)
{
  return err == ENODATA ? cut_off (r) : manifest_reader_set_errno (r, err);
}

/* Peek at a record, which has SIZE bytes and a tail, and check the tail.  The
 * CRC in the tail continues from CRC: for the end record this is the CRC of the
 * header, and for all other records 0.
 */
static int
peek_record (struct blkhash_manifest_reader *r, size_t size, uint32_t crc,
             const unsigned char **bytes)
{
  const unsigned char *tail;
  int err;

  if (!manifest_input_may_have (&r->input, size + MANIFEST_TAIL_SIZE))
    return cut_off (r);
  err = manifest_input_peek (&r->input, size + MANIFEST_TAIL_SIZE, bytes);
  if (err)
    return input_failed (r, err);
  tail = *bytes + size;
  if (manifest_get (tail, 4) != crc32c (crc, *bytes, size))
    return bad_record (r, "has a wrong CRC");
  if (manifest_get (tail + 4, 4) != 0)
    return bad_record (r, "does not end with 0");
  return 0;
}

/* Check that a record of COUNT blocks from FIRST on can be the next one.  It
 * must not be one that a writer would have merged with the previous record,
 * because an image has exactly one manifest (see blkhash-manifest(5)).
 */
static int
check_numbers (struct blkhash_manifest_reader *r, uint64_t first,
               uint64_t count, bool zeros)
{
  if (first < r->next)
    return bad_record (r, "repeats blocks of earlier records");
  if (first > r->next)
    return bad_record (r, "skips blocks");
  if (count == 0)
    return bad_record (r, "has no blocks");
  if (count > r->end - first)
    return bad_record (r, "has more blocks than the header says");
  if (!zeros && count > MANIFEST_MAX_LEAVES)
    return bad_record (r, "has more leaves than allowed");
  if (zeros ? r->after_zeros : r->after_short_data)
    return bad_record (r, "should have been merged with the one before");
  return 0;
}

static int
check_leaves (struct blkhash_manifest_reader *r, uint64_t first,
              const unsigned char *leaves, size_t count)
{
  int err = manifest_zeros_hash (&r->zeros);

  if (err)
    return manifest_reader_set_errno (r, err);
  if (manifest_zeros_has (&r->zeros, first, leaves, count))
    return bad_record (r, "has a block of zeros as data");
  return 0;
}

/* COUNT blocks follow.  Call the observer if this is due. */
static int
poll_observer (struct blkhash_manifest_reader *r, uint64_t count)
{
  const struct manifest_observer *observer = &r->input.observer;

  r->unpolled += count;
  if (!observer->poll || r->unpolled < POLL_BLOCKS)
    return 0;
  r->unpolled = 0;
  return observer->poll (observer->opaque);
}

/* Add to the sum the run that was returned last.  This is done only now,
 * because it can take long, and a caller such as a comparison may have stopped
 * after that run.
 */
static int
add_to_sum (struct blkhash_manifest_reader *r)
{
  struct blkhash_manifest_run run = r->run;
  int err = 0;

  r->run.count = 0;
  if (!r->sum)
    err = poll_observer (r, run.count);
  while (r->sum && err == 0 && run.count > 0) {
    uint64_t n = MIN (run.count, POLL_BLOCKS);

    err = poll_observer (r, n);
    if (err == 0)
      err = run.leaves ? manifest_sum_leaves (r->sum, run.leaves, n)
                       : manifest_sum_zeros (r->sum, n);
    run.count -= n;
  }
  return err ? manifest_reader_set_errno (r, err) : 0;
}

static int
read_blocks (struct blkhash_manifest_reader *r, uint64_t first,
             uint64_t count, struct blkhash_manifest_run *run)
{
  bool zeros = count & MANIFEST_ZERO_RUN;
  const unsigned char *bytes;
  size_t size = MANIFEST_HEAD_SIZE;
  int err;

  count &= ~MANIFEST_ZERO_RUN;
  err = check_numbers (r, first, count, zeros);
  if (err)
    return err;
  if (!zeros)
    size += count * r->leaf_size;
  err = peek_record (r, size, 0, &bytes);
  if (err)
    return err;
  err = zeros ? 0 : check_leaves (r, first, bytes + MANIFEST_HEAD_SIZE, count);
  if (err)
    return err;
  r->run = *run = (struct blkhash_manifest_run) {
    .first = first, .count = count,
    .leaves = zeros ? NULL : bytes + MANIFEST_HEAD_SIZE,
    .leaf_size = r->leaf_size,
  };
  manifest_input_take (&r->input, size + MANIFEST_TAIL_SIZE);
  r->next += count;
  r->after_zeros = zeros;
  r->after_short_data = !zeros && count < MANIFEST_MAX_LEAVES;
  return 0;
}

/* Check that the sum of the manifest is the sum of its leaves. */
static int
check_sum (struct blkhash_manifest_reader *r)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int err;

  if (!r->sum)
    return 0;
  err = manifest_sum_final (r->sum, r->header.size, md);
  if (err)
    return manifest_reader_set_errno (r, err);
  if (memcmp (md, r->md, r->leaf_size) != 0)
    return damaged (r, "the sum is not that of the leaves");
  return 0;
}

static int
read_end (struct blkhash_manifest_reader *r, uint64_t count)
{
  size_t sum_size = manifest_is_complete (&r->header) ? r->leaf_size : 0;
  size_t size = MANIFEST_HEAD_SIZE + sum_size;
  const unsigned char *bytes;
  int err;

  if (r->next < r->end)
    return manifest_reader_set_error (r, EBADMSG, "blocks from %" PRIu64
                                      " on are missing", r->next);
  err = peek_record (r, size, r->header_crc, &bytes);
  if (err)
    return err;
  if (count != r->header.count)
    return bad_record (r, "has a wrong total number of blocks");
  memcpy (r->md, bytes + MANIFEST_HEAD_SIZE, sum_size);
  size += MANIFEST_TAIL_SIZE;
  err = manifest_input_peek (&r->input, size + 1, &bytes);
  if (err == 0)
    return damaged (r, "trailing data after the manifest");
  if (err != ENODATA)
    return input_failed (r, err);
  manifest_input_take (&r->input, size);
  return check_sum (r);
}

static int
read_record (struct blkhash_manifest_reader *r,
             struct blkhash_manifest_run *run)
{
  const unsigned char *bytes;
  uint64_t first, count;
  int err = add_to_sum (r);

  if (err)
    return err;
  err = manifest_input_peek (&r->input, MANIFEST_HEAD_SIZE, &bytes);
  if (err)
    return input_failed (r, err);
  first = manifest_get (bytes, 8);
  count = manifest_get (bytes + 8, 8);
  if (first != MANIFEST_END)
    return read_blocks (r, first, count, run);
  err = read_end (r, count);
  if (err)
    return err;
  r->ended = true;
  return manifest_reader_set_error (r, ENOENT, "there are no more blocks");
}

int
blkhash_manifest_reader_next (struct blkhash_manifest_reader *r,
                              struct blkhash_manifest_run *run)
{
  if (r->err == 0)
    r->err = read_record (r, run);
  return r->err;
}

int
manifest_validate (int fd, char *reason, size_t size)
{
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, BLKHASH_MANIFEST_NO_SUM, reason, size);
  struct blkhash_manifest_run run;
  int err;

  if (!r)
    return errno;
  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  if (err != ENOENT)
    snprintf (reason, size, "%s", r->error);
  blkhash_manifest_reader_free (r);
  return err == ENOENT ? 0 : err;
}

/* ---- Getters ---- */

const struct blkhash_opts *
blkhash_manifest_reader_opts (const struct blkhash_manifest_reader *r)
{
  return r->header.opts;
}

uint64_t
blkhash_manifest_reader_size (const struct blkhash_manifest_reader *r)
{
  return r->header.size;
}

void
blkhash_manifest_reader_blocks (const struct blkhash_manifest_reader *r,
                                uint64_t *first, uint64_t *count)
{
  *first = r->header.first;
  *count = r->header.count;
}

int
blkhash_manifest_reader_is_complete (const struct blkhash_manifest_reader *r)
{
  return manifest_is_complete (&r->header);
}

const char *
manifest_reader_plan (const struct blkhash_manifest_reader *r)
{
  return r->header.plan;
}

uint64_t
manifest_reader_offset (const struct blkhash_manifest_reader *r)
{
  return r->input.offset;
}

bool
manifest_reader_is_fresh (const struct blkhash_manifest_reader *r)
{
  return r->err == 0 && r->next == r->header.first;
}

int
blkhash_manifest_reader_sum (const struct blkhash_manifest_reader *r,
                             unsigned char *md, unsigned int *len)
{
  if (!r->ended || !manifest_is_complete (&r->header))
    return ENODATA;
  memcpy (md, r->md, r->leaf_size);
  if (len)
    *len = r->leaf_size;
  return 0;
}

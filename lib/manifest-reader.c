/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read a manifest, and believe nothing that is in it.
 *
 * A record is given when all of it was read and its CRC is right.  Numbers are
 * compared with what the header says and with the bytes that are left, before
 * any memory depends on them.  What only the end tells, such as that nothing is
 * missing, is told with ENOENT.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash-manifest.h"
#include "crc32c.h"
#include "digest.h"
#include "manifest-format.h"
#include "manifest-input.h"
#include "manifest-reader.h"
#include "manifest-sum.h"

struct blkhash_manifest_reader {
  struct manifest_input input;
  unsigned flags;
  struct manifest_header header;
  uint32_t header_crc;
  size_t leaf_size;
  struct manifest_sum *sum;     /* of what was read, or NULL */
  bool started, ended;
  uint64_t next, end;           /* blocks: of the next record, and of all */
  bool after_zeros;             /* the record before is zeros */
  bool after_part;              /* or has less leaves than there is place for */
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  int err;                      /* the first */
  char error[160];              /* in words */
};

struct blkhash_manifest_reader *
blkhash_manifest_reader_new (int fd, unsigned flags)
{
  struct blkhash_manifest_reader *r;

  if (flags & ~BLKHASH_MANIFEST_NO_SUM) {
    errno = EINVAL;
    return NULL;
  }
  r = calloc (1, sizeof *r);
  if (!r)
    return NULL;
  r->flags = flags;
  manifest_input_init (&r->input, fd);
  return r;
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

const char *
blkhash_manifest_reader_error (const struct blkhash_manifest_reader *r)
{
  return r->error;
}

/* ---- Errors ---- */

static int
fail (struct blkhash_manifest_reader *r, int err, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

static int
fail (struct blkhash_manifest_reader *r, int err, const char *fmt, ...)
{
  va_list args;

  va_start (args, fmt);
  vsnprintf (r->error, sizeof r->error, fmt, args);
  va_end (args);
  return err;
}

/* Of the record that begins where bytes were taken until now. */
static int
bad_record (struct blkhash_manifest_reader *r, const char *what)
{
  return fail (r, EBADMSG, "the record at byte %" PRIu64 " %s",
               r->input.offset, what);
}

static int
cut_off (struct blkhash_manifest_reader *r)
{
  return fail (r, EBADMSG, "the manifest is cut off");
}

/* What came of reading. */
static int
input_failed (struct blkhash_manifest_reader *r, int err)
{
  if (err == ENODATA)
    return cut_off (r);
  return fail (r, err, "%s", strerror (err));
}

/* What the caller did wrong; it does not stick. */
static int
misused (struct blkhash_manifest_reader *r, int err, const char *what)
{
  return fail (r, err, "%s", what);
}

/* ---- The header ---- */

static int
prepare (struct blkhash_manifest_reader *r)
{
  struct digest *digest =
    digest_create (blkhash_opts_get_digest_name (r->header.opts));

  if (!digest)
    return errno;
  r->leaf_size = digest_size (digest);
  digest_free (digest);
  r->next = r->header.first;
  r->end = r->header.first + r->header.count;
  if ((r->flags & BLKHASH_MANIFEST_NO_SUM) ||
      !manifest_is_complete (&r->header))
    return 0;
  r->sum = manifest_sum_create (r->header.opts, r->header.size);
  return r->sum ? 0 : errno;
}

static int
read_header (struct blkhash_manifest_reader *r)
{
  const unsigned char *bytes;
  const char *why;
  int err = manifest_input_peek (&r->input, MANIFEST_HEADER_SIZE, &bytes);

  if (err == ENODATA)
    return fail (r, EBADMSG, "it is too short for a manifest of blkhash");
  if (err)
    return input_failed (r, err);
  err = manifest_header_parse (bytes, &r->header, &why);
  if (err == ENOMEM)
    return input_failed (r, err);
  if (err)
    return fail (r, err, "%s", why);
  r->header_crc = crc32c (0, bytes, MANIFEST_HEADER_SIZE);
  manifest_input_take (&r->input, MANIFEST_HEADER_SIZE);
  err = prepare (r);
  return err ? fail (r, err, "%s", strerror (err)) : 0;
}

int
blkhash_manifest_reader_start (struct blkhash_manifest_reader *r)
{
  if (r->err)
    return r->err;
  if (r->started)
    return misused (r, EINVAL, "the manifest was started before");
  r->err = read_header (r);
  r->started = r->err == 0;
  return r->err;
}

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

/* ---- Records ---- */

/* Find a record of SIZE bytes without its tail, and check that.  CRC is that of
 * what is to be in its CRC before it.
 */
static int
find_record (struct blkhash_manifest_reader *r, size_t size, uint32_t crc,
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

/* COUNT blocks from FIRST on come next, and not in more records than needed. */
static int
check_numbers (struct blkhash_manifest_reader *r, uint64_t first,
               uint64_t count, bool zeros)
{
  if (first < r->next)
    return bad_record (r, "has blocks that were there before");
  if (first > r->next)
    return bad_record (r, "leaves blocks out");
  if (count == 0)
    return bad_record (r, "has no blocks");
  if (count > r->end - first)
    return bad_record (r, "has more blocks than the header says");
  if (!zeros && count > MANIFEST_MAX_LEAVES)
    return bad_record (r, "has more leaves than allowed");
  if (zeros ? r->after_zeros : r->after_part)
    return bad_record (r, "should be a part of the one before");
  return 0;
}

static int
add_to_sum (struct blkhash_manifest_reader *r,
            const struct blkhash_manifest_run *run)
{
  int err;

  if (!r->sum)
    return 0;
  err = run->leaves ? manifest_sum_leaves (r->sum, run->leaves, run->count)
                    : manifest_sum_zeros (r->sum, run->count);
  return err ? fail (r, err, "%s", strerror (err)) : 0;
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
  err = find_record (r, size, 0, &bytes);
  if (err)
    return err;
  *run = (struct blkhash_manifest_run) {
    .first = first, .count = count,
    .leaves = zeros ? NULL : bytes + MANIFEST_HEAD_SIZE,
  };
  manifest_input_take (&r->input, size + MANIFEST_TAIL_SIZE);
  r->next += count;
  r->after_zeros = zeros;
  r->after_part = !zeros && count < MANIFEST_MAX_LEAVES;
  return add_to_sum (r, run);
}

/* Is the sum that of the leaves? */
static int
check_sum (struct blkhash_manifest_reader *r)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int err;

  if (!r->sum)
    return 0;
  err = manifest_sum_final (r->sum, md);
  if (err)
    return fail (r, err, "%s", strerror (err));
  if (memcmp (md, r->md, r->leaf_size) != 0)
    return fail (r, EBADMSG, "the sum is not that of the leaves");
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
    return fail (r, EBADMSG, "blocks from %" PRIu64 " on are missing",
                 r->next);
  err = find_record (r, size, r->header_crc, &bytes);
  if (err)
    return err;
  if (count != r->header.count)
    return bad_record (r, "says a wrong number of blocks");
  memcpy (r->md, bytes + MANIFEST_HEAD_SIZE, sum_size);
  manifest_input_take (&r->input, size + MANIFEST_TAIL_SIZE);
  err = manifest_input_peek (&r->input, 1, &bytes);
  if (err == 0)
    return fail (r, EBADMSG, "there is something behind the manifest");
  if (err != ENODATA)
    return input_failed (r, err);
  return check_sum (r);
}

static int
read_record (struct blkhash_manifest_reader *r,
             struct blkhash_manifest_run *run)
{
  const unsigned char *bytes;
  uint64_t first, count;
  int err = manifest_input_peek (&r->input, MANIFEST_HEAD_SIZE, &bytes);

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
  return fail (r, ENOENT, "there are no more blocks");
}

int
blkhash_manifest_reader_next (struct blkhash_manifest_reader *r,
                              struct blkhash_manifest_run *run)
{
  if (r->err)
    return r->err;
  if (!r->started)
    return misused (r, EINVAL, "the manifest was not started");
  r->err = read_record (r, run);
  return r->err;
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

bool
manifest_reader_is_fresh (const struct blkhash_manifest_reader *r)
{
  return r->started && r->err == 0 && r->next == r->header.first &&
    !(r->flags & BLKHASH_MANIFEST_NO_SUM);
}

int
manifest_reader_fail (struct blkhash_manifest_reader *r, int err)
{
  r->err = fail (r, err, "%s", strerror (err));
  return err;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A manifest reader: create and free it, and read the header.
 */

#include <config.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash-manifest.h"
#include "manifest/crc32c.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-input.h"
#include "manifest/manifest-reader.h"
#include "manifest/manifest-sum.h"
#include "manifest/manifest-zeros.h"

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

int
manifest_reader_set_errno (struct blkhash_manifest_reader *r, int err)
{
  return manifest_reader_set_error (r, err, "%s", strerror (err));
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

uint64_t
manifest_reader_offset (const struct blkhash_manifest_reader *r)
{
  return r->input.offset;
}

/* ---- The end ---- */

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
  return r->err == 0 && r->next == r->header.first;
}

int
manifest_reader_fail (struct blkhash_manifest_reader *r, int err)
{
  r->err = manifest_reader_set_errno (r, err);
  return err;
}

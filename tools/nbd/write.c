/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export in which blocks are replaced.
 *
 * One request at a time is in flight: few blocks are written, and each is
 * flushed and read back.
 */

#include <config.h>

#include "../lib/common/numbers.h"
#include "nbd/handle.h"
#include "nbd/load.h"
#include "nbd/write.h"
#include "util/error.h"
#include "util/medium-error.h"

#define MAX_REQUEST (32 * 1024 * 1024) /* bytes, which every server accepts */

/* ---- Connecting ---- */

static int
set_sizes (struct nbd_writer *writer, struct error *error)
{
  int64_t size = nbd_get_size (writer->nbd);
  int64_t min = nbd_get_block_size (writer->nbd, LIBNBD_SIZE_MINIMUM);
  int64_t max = nbd_get_block_size (writer->nbd, LIBNBD_SIZE_MAXIMUM);

  if (size < 0)
    return error_set (error, "the server reports a size of 2^63 bytes or more");
  if (min <= 0)
    min = 1;
  if (max <= 0 || max > MAX_REQUEST)
    max = MAX_REQUEST;
  if ((min & (min - 1)) != 0 || min > max)
    return error_set (error, "the server announces invalid sizes of requests: "
                      "%lld to %lld bytes", (long long) min, (long long) max);
  writer->size = size;
  writer->align = min;
  writer->max_request = ROUND_DOWN (max, min);
  return 0;
}

static int
check_flags (const struct nbd_writer *writer, struct error *error)
{
  if (nbd_is_read_only (writer->nbd) != 0)
    return error_set (error, "cannot be written: the export is read-only");
  if (nbd_can_flush (writer->nbd) != 1)
    return error_set (error, "cannot be repaired: the server cannot flush what "
                      "was written");
  return 0;
}

static int
connect_and_check (struct nbd_writer *writer, const char *uri, bool read_only,
                   struct error *error)
{
  if (nbd_connect_uri (writer->nbd, uri) == -1)
    return error_set (error, "cannot connect: %s", nbd_error_text ());
  if (!read_only && check_flags (writer, error) == -1)
    return -1;
  return set_sizes (writer, error);
}

int
nbd_writer_open (struct nbd_writer *writer, const char *uri, bool read_only,
                 struct error *error)
{
  writer->nbd = nbd_handle_create (false, error);
  if (!writer->nbd)
    return -1;
  if (connect_and_check (writer, uri, read_only, error) == 0)
    return 0;
  nbd_handle_close (writer->nbd);
  return -1;
}

void
nbd_writer_close (struct nbd_writer *writer)
{
  nbd_handle_close (writer->nbd);
}

/* ---- Reading and writing ---- */

static int
fail (const char *what, uint64_t offset, struct error *error)
{
  return error_set (error, "cannot %s at offset %llu: %s", what,
                    (unsigned long long) offset, nbd_error_text ());
}

int
nbd_writer_read (const struct nbd_writer *writer, void *buf, size_t len,
                 uint64_t offset, struct error *error)
{
  size_t done, n;

  for (done = 0; done < len; done += n) {
    n = MIN (len - done, writer->max_request);
    if (nbd_pread (writer->nbd, (char *) buf + done, n, offset + done, 0) == -1)
      return is_medium_error (nbd_get_errno ())
        ? 1 : fail ("read", offset + done, error);
  }
  return 0;
}

int
nbd_writer_write (const struct nbd_writer *writer, const void *buf, size_t len,
                  uint64_t offset, struct error *error)
{
  size_t done, n;

  for (done = 0; done < len; done += n) {
    n = MIN (len - done, writer->max_request);
    if (nbd_pwrite (writer->nbd, (const char *) buf + done, n, offset + done,
                    0) == -1)
      return fail ("write", offset + done, error);
  }
  return 0;
}

int
nbd_writer_flush (const struct nbd_writer *writer, struct error *error)
{
  if (nbd_flush (writer->nbd, 0) == -1)
    return error_set (error, "the server cannot flush what was written: %s",
                      nbd_error_text ());
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Replace blocks of an NBD export.
 *
 * The connection is one of those over which the export was read.  Only one
 * request is in flight at a time, because only a few blocks are written.
 */

#include <config.h>

#include "../lib/common/libnbd.h"
#include "../lib/common/numbers.h"
#include "nbd/handle.h"
#include "nbd/write.h"
#include "util/error.h"

#define MAX_REQUEST (32 * 1024 * 1024) /* bytes, unless the server has a
                                        * smaller maximum */

int
nbd_write_check (struct nbd_handle *nbd, bool read_only, uint32_t *align,
                 struct error *error)
{
  int64_t min = nbd_get_block_size (nbd, LIBNBD_SIZE_MINIMUM);

  if (!read_only && nbd_is_read_only (nbd) != 0)
    return error_set (error, "cannot be written: the export is read-only");
  if (!read_only && nbd_can_flush (nbd) != 1)
    return error_set (error, "cannot be repaired: the server cannot flush what "
                      "was written");
  if (min > MAX_REQUEST || (min > 0 && (min & (min - 1)) != 0))
    return error_set (error, "the server announces an invalid minimum "
                      "block size: %lld bytes", (long long) min);
  *align = min > 0 ? min : 1;
  return 0;
}

static size_t
max_request (struct nbd_handle *nbd)
{
  int64_t min = nbd_get_block_size (nbd, LIBNBD_SIZE_MINIMUM);
  int64_t max = nbd_get_block_size (nbd, LIBNBD_SIZE_MAXIMUM);

  if (max <= 0 || max > MAX_REQUEST)
    max = MAX_REQUEST;
  return min > 0 ? MAX (ROUND_DOWN (max, min), min) : max;
}

static int
fail (const char *what, uint64_t offset, struct error *error)
{
  return error_set (error, "cannot %s at offset %llu: %s", what,
                    (unsigned long long) offset, nbd_error_text ());
}

int
nbd_write_read (struct nbd_handle *nbd, void *buf, size_t len, uint64_t offset,
                struct error *error)
{
  size_t done, n, max = max_request (nbd);

  for (done = 0; done < len; done += n) {
    n = MIN (len - done, max);
    if (nbd_pread (nbd, (char *) buf + done, n, offset + done, 0) == -1)
      return fail ("read", offset + done, error);
  }
  return 0;
}

int
nbd_write_write (struct nbd_handle *nbd, const void *buf, size_t len,
                 uint64_t offset, struct error *error)
{
  size_t done, n, max = max_request (nbd);

  for (done = 0; done < len; done += n) {
    n = MIN (len - done, max);
    if (nbd_pwrite (nbd, (const char *) buf + done, n, offset + done, 0) == -1)
      return fail ("write", offset + done, error);
  }
  return 0;
}

int
nbd_write_flush (struct nbd_handle *nbd, struct error *error)
{
  if (nbd_flush (nbd, 0) == -1)
    return error_set (error, "the server cannot flush what was written: %s",
                      nbd_error_text ());
  return 0;
}

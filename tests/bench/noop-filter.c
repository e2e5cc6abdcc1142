/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A filter for nbdkit that has the callbacks for requests that the filter
 * blkhash has, and does nothing: what any filter costs.  One of nbdkit's that
 * does nothing here, as nozero, has fewer of them, and nbdkit passes by those
 * that a filter has not.
 */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

static int
noop_pread (nbdkit_next *next, void *handle, void *buf, uint32_t count,
            uint64_t offset, uint32_t flags, int *err)
{
  (void) handle;
  return next->pread (next, buf, count, offset, flags, err);
}

static int
noop_pwrite (nbdkit_next *next, void *handle, const void *buf, uint32_t count,
             uint64_t offset, uint32_t flags, int *err)
{
  (void) handle;
  return next->pwrite (next, buf, count, offset, flags, err);
}

static int
noop_zero (nbdkit_next *next, void *handle, uint32_t count, uint64_t offset,
           uint32_t flags, int *err)
{
  (void) handle;
  return next->zero (next, count, offset, flags, err);
}

static struct nbdkit_filter filter = {
  .name = "noop",
  .longname = "a filter that does nothing",
  .pread = noop_pread,
  .pwrite = noop_pwrite,
  .zero = noop_zero,
};

NBDKIT_REGISTER_FILTER (filter)

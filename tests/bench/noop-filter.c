/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A filter for nbdkit with the callbacks of the blkhash filter for reads,
 * writes and zeros, which do nothing: the cost of any filter.  Filters of
 * nbdkit that do nothing here, as nozero, have fewer callbacks, and nbdkit
 * skips a filter without a callback.
 *
 * With noop-hash=true it hashes data that is read and written, each request
 * alone by OpenSSL, and keeps nothing: the minimum cost of hashing, including
 * its effects on threads and caches.
 */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

static bool hashes;

static int
noop_config (nbdkit_next_config *next, nbdkit_backend *nxdata,
             const char *key, const char *value)
{
  if (strcmp (key, "noop-hash") != 0)
    return next (nxdata, key, value);
  hashes = nbdkit_parse_bool (value) == 1;
  return 0;
}

static void
see (const void *buf, uint32_t count)
{
  unsigned char md[SHA256_DIGEST_LENGTH];

  if (hashes)
    SHA256 (buf, count, md);
}

static int
noop_pread (nbdkit_next *next, void *handle, void *buf, uint32_t count,
            uint64_t offset, uint32_t flags, int *err)
{
  int r = next->pread (next, buf, count, offset, flags, err);

  (void) handle;
  see (buf, count);
  return r;
}

static int
noop_pwrite (nbdkit_next *next, void *handle, const void *buf, uint32_t count,
             uint64_t offset, uint32_t flags, int *err)
{
  int r = next->pwrite (next, buf, count, offset, flags, err);

  (void) handle;
  see (buf, count);
  return r;
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
  .config = noop_config,
  .pread = noop_pread,
  .pwrite = noop_pwrite,
  .zero = noop_zero,
};

NBDKIT_REGISTER_FILTER (filter)

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/sums.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest-index.h"
#include "job/manifest.h"
#include "repair/repair-manifest.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

/* ---- The sum ---- */

static int
compare_sum (const struct repair_manifest *manifest,
             const struct expected_sum *expected, struct error *error)
{
  if (!blkhash_opts_same_hash (expected->opts, manifest->opts))
    return error_set (error, "its digest, block size or construction is not "
                      "that of --sum");
  if (memcmp (expected->md, manifest_index_sum (manifest->index),
              manifest->leaf_size) != 0)
    return error_set (error, "its sum is not that of --sum");
  return 0;
}

/* The expected sum is only meaningful together with its hash parameters.  Those
 * that are not given with the sum are taken from the options, as for --expect,
 * and not from the manifest.
 */
static int
check_sum (const struct repair_manifest *manifest,
           const struct repair_request *request, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct expected_sum expected;
  int r;

  if (expected_sum_parse (&expected, request->expected_sum, request->hash.opts,
                          reason) != 0)
    return error_set (error, "--sum: %s", reason);
  r = compare_sum (manifest, &expected, error);
  expected_sum_destroy (&expected);
  return r;
}

/* ---- Opening ---- */

static int
count_data (void *opaque, const struct blkhash_manifest_run *run)
{
  struct repair_manifest *manifest = opaque;

  if (run->leaves)
    manifest->data_blocks += run->count;
  return 0;
}

/* Refuse a digest that is not cryptographic, unless nothing is written. */
static int
check_digest (const struct repair_manifest *manifest,
              const struct repair_request *request, struct error *error)
{
  const char *name = blkhash_opts_get_digest_name (manifest->opts);
  struct digest *digest = digest_create (name);
  bool is_cryptographic = digest && digest_is_cryptographic (digest);

  if (!digest)
    return error_errno (error, errno, "cannot repair");
  digest_free (digest);
  if (is_cryptographic || request->dry_run)
    return 0;
  return error_set (error, "its digest, %s, detects only accidental changes: a "
                    "source could have other content with the same digest",
                    name);
}

/* A digest of length zero is refused, because all blocks would have the same
 * leaf.
 */
static int
check (struct repair_manifest *manifest,
       const struct repair_request *request, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  if (job_manifest_check_params (&request->hash, manifest->opts, error) == -1)
    return -1;
  if (manifest->leaf_size == 0)
    return error_set (error, "it has a digest whose length is zero, which "
                      "proves nothing");
  if (check_digest (manifest, request, error) == -1)
    return -1;
  if (manifest_index_load (manifest->index, count_data, manifest, reason,
                           sizeof reason) != 0)
    return error_set (error, "%s", reason);
  if (strcmp (request->expected_sum, "none") == 0)
    return 0;
  return check_sum (manifest, request, error);
}

static int
read_header (struct repair_manifest *manifest, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  manifest->index = manifest_index_new (manifest->fd, reason, sizeof reason);
  if (!manifest->index)
    return error_set (error, "%s", reason);
  manifest->opts = manifest_index_opts (manifest->index);
  manifest->size = manifest_index_size (manifest->index);
  manifest->block_size = blkhash_opts_get_block_size (manifest->opts);
  manifest->leaf_size = blkhash_opts_get_digest_size (manifest->opts);
  return 0;
}

int
repair_manifest_open (struct repair_manifest *manifest,
                      const struct repair_request *request,
                      struct error *error)
{
  const char *path = request->manifest;

  *manifest = (struct repair_manifest) { .path = path };
  if (strcmp (path, "-") == 0)
    return error_set (error, "it is read several times, and must be a regular "
                      "file, not standard input");
  manifest->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (manifest->fd == -1)
    return error_errno (error, errno, "cannot open");
  if (read_header (manifest, error) == 0 &&
      check (manifest, request, error) == 0)
    return 0;
  repair_manifest_close (manifest);
  return -1;
}

void
repair_manifest_close (struct repair_manifest *manifest)
{
  manifest_index_free (manifest->index);
  close (manifest->fd);
}

int
repair_manifest_get (const struct repair_manifest *manifest, uint64_t first,
                     uint64_t max, unsigned char *leaves,
                     struct blkhash_manifest_run *run, struct error *error)
{
  int err = manifest_index_get (manifest->index, first, max, leaves, run);

  if (err == 0)
    return 0;
  return error_about (error, manifest->path, "%s", err == ESTALE
                      ? "it was modified while it was used" : strerror (err));
}

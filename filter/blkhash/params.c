/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the filter.  See params.h.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/hash-spec.h"
#include "../lib/common/strata.h"
#include "../lib/common/util.h"
#include "blkhash.h"
#include "blkhash/params.h"

#define MIN_UNIT (64 * 1024)    /* bytes; the largest block size of
                                 * nbdkit's blocksize filter, and the
                                 * default of its cache and cow filters */
#define MAX_UNIT (1024 * 1024 * 1024) /* bytes */

struct params params = {
  .tag = true, .unit = MIN_UNIT, .audit = STRATA_DEFAULT
};

/* Set by params_config.  params_complete creates params.hash from the first
 * two.
 */
static const char *digest = "sha256"; /* a hash spec */
static int64_t block_size = -1;
static bool has_audit;          /* blkhash-audit was given */
static int64_t offset;          /* parameter of nbdkit's offset filter */

static enum param_result
parse_bool (const char *value, bool *result)
{
  int r = nbdkit_parse_bool (value);

  if (r == -1)
    return PARAM_INVALID;
  *result = r;
  return PARAM_STORED;
}

static enum param_result
parse_missing (const char *value)
{
  if (strcmp (value, "read") == 0)
    params.missing = MISSING_READ;
  else if (strcmp (value, "fail") == 0)
    params.missing = MISSING_FAIL;
  else {
    nbdkit_error ("blkhash-missing must be read or fail: %s", value);
    return PARAM_INVALID;
  }
  return PARAM_STORED;
}

static enum param_result
parse_audit (const char *value)
{
  has_audit = true;
  if (strata_parse_share (value, &params.audit))
    return PARAM_STORED;
  nbdkit_error ("blkhash-audit must be a number from 0 to 100, with up to six "
                "decimals, and a percent sign: %s", value);
  return PARAM_INVALID;
}

/* Record parameters of other filters.  Some filters serve a part of the layer
 * below, and the part can begin at any byte (offset, partition, tar, ext2,
 * luks); others have blocks of their own, of a given size (cache, cow).
 * Returns PARAM_UNKNOWN, or PARAM_INVALID on error.
 */
static enum param_result
parse_other (const char *key, const char *value)
{
  static const char *const shifting[] = {
    "partition", "tar-entry", "ext2file", "passphrase"
  };
  int64_t size = 0;
  size_t i;

  for (i = 0; i < sizeof shifting / sizeof shifting[0]; i++)
    params.shifted |= strcmp (key, shifting[i]) == 0;
  if (strcmp (key, "offset") == 0)
    size = offset = nbdkit_parse_size (value);
  else if (strcmp (key, "cache-min-block-size") == 0 ||
           strcmp (key, "cow-block-size") == 0) {
    size = nbdkit_parse_size (value);
    params.unit = MAX (params.unit, MIN (size, MAX_UNIT));
  }
  return size == -1 ? PARAM_INVALID : PARAM_UNKNOWN;
}

/* Refuse a parameter of earlier versions.  Returns PARAM_UNKNOWN if KEY is not
 * one.
 */
static enum param_result
refuse_retired (const char *key)
{
  static const struct {
    const char *key, *now;
  } retired[] = {
    { "blkhash-streams",
      "blkhash-digest=DIGEST/SIZE/sN, such as sha256/64k/s64" },
    { "blkhash-linear",
      "blkhash-digest=DIGEST/SIZE/linear, such as sha256/64k/linear" },
    { "blkhash-update-audit", "blkhash-audit" },
  };
  size_t i;

  for (i = 0; i < sizeof retired / sizeof retired[0]; i++)
    if (strcmp (key, retired[i].key) == 0) {
      nbdkit_error ("%s is now: %s", key, retired[i].now);
      return PARAM_INVALID;
    }
  return PARAM_UNKNOWN;
}

enum param_result
params_config (const char *key, const char *value)
{
  if (strcmp (key, "blkhash-digest") == 0)
    digest = value;
  else if (strcmp (key, "blkhash-block-size") == 0) {
    block_size = nbdkit_parse_size (value);
    return block_size == -1 ? PARAM_INVALID : PARAM_STORED;
  }
  else if (strcmp (key, "blkhash-file") == 0)
    return config_files_parse (key, value, &params.file);
  else if (strcmp (key, "blkhash-manifest") == 0)
    return config_files_parse (key, value, &params.manifest);
  else if (strcmp (key, "blkhash-name") == 0)
    params.name = value;
  else if (strcmp (key, "blkhash-tag") == 0)
    return parse_bool (value, &params.tag);
  else if (strcmp (key, "blkhash-missing") == 0)
    return parse_missing (value);
  else if (strcmp (key, "blkhash-update") == 0)
    return parse_bool (value, &params.update);
  else if (strcmp (key, "blkhash-audit") == 0)
    return parse_audit (value);
  else if (strcmp (key, "blkhash-distinct-exports") == 0)
    return parse_bool (value, &params.distinct_exports);
  else
    return refuse_retired (key) == PARAM_INVALID ? PARAM_INVALID
                                                 : parse_other (key, value);
  return PARAM_STORED;
}

/* Create params.hash, without the block size.  The spec can be that of a tag,
 * which begins with "blk-".
 */
static int
make_hash (struct hash_spec *spec)
{
  int err = hash_spec_parse_user (digest, spec);

  if (err == 0) {
    params.hash = blkhash_opts_new (spec->digest);
    err = params.hash ? 0 : errno;
  }
  if (err == EINVAL)
    nbdkit_error ("blkhash-digest: '%s' is not DIGEST[/SIZE[/sN|/linear]]; "
                  "blksum --list-digests lists the digests", digest);
  else if (err)
    nbdkit_error ("blkhash: %s", strerror (err));
  else if (blkhash_opts_set_streams (params.hash, spec->streams) != 0)
    nbdkit_error ("blkhash-digest: '%s' has more than 1024 streams", digest);
  else
    return blkhash_opts_set_linear (params.hash, spec->linear);
  return -1;
}

static int
set_block_size (const struct hash_spec *spec)
{
  const char *param = "blkhash-block-size";

  if (spec->block_size > 0 && block_size != -1 &&
      block_size != spec->block_size) {
    nbdkit_error ("blkhash-digest and blkhash-block-size give different block "
                  "sizes");
    return -1;
  }
  if (spec->block_size > 0) {
    param = "blkhash-digest";
    block_size = spec->block_size;
  }
  if (block_size == -1 ||
      (block_size <= UINT32_MAX &&
       blkhash_opts_set_block_size (params.hash, block_size) == 0))
    return 0;
  nbdkit_error ("%s: the block size is not a power of two from 4 to 16M",
                param);
  return -1;
}

static int
check_update (void)
{
  if (has_audit && !params.update)
    nbdkit_error ("blkhash-audit is for blkhash-update=true");
  else if (params.update && !params.manifest)
    nbdkit_error ("blkhash-update needs blkhash-manifest, which names the "
                  "manifest to update");
  else if (params.update && params.missing == MISSING_FAIL)
    nbdkit_error ("blkhash-update reads blocks that clients wrote in part: it "
                  "cannot be used with blkhash-missing=fail");
  else if (params.update && blkhash_opts_get_digest_size (params.hash) == 0)
    nbdkit_error ("blkhash-update cannot be used with the digest null, which "
                  "is the same for all data");
  else
    return 0;
  return -1;
}

int
params_complete (void)
{
  struct hash_spec spec;

  if (make_hash (&spec) == -1 || set_block_size (&spec) == -1)
    return -1;
  if (params.manifest && params.distinct_exports) {
    nbdkit_error ("blkhash-manifest describes one disk: it cannot be used with "
                  "blkhash-distinct-exports");
    return -1;
  }
  if (check_update () == -1)
    return -1;
  params.unit = MAX (params.unit, blkhash_opts_get_block_size (params.hash));
  params.shifted |= offset % params.unit != 0;
  return 0;
}

void
params_dump_digests (void)
{
  size_t i, count = blkhash_digests (NULL, 0);
  const char **names = calloc (count, sizeof *names);

  if (!names)
    return;
  blkhash_digests (names, count);
  printf ("blkhash_digests=");
  for (i = 0; i < count; i++)
    printf ("%s%s", i ? "," : "", names[i]);
  printf ("\n");
  free (names);
}

void
params_free (void)
{
  blkhash_opts_free (params.hash);
  params.hash = NULL;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the filter, and parameters of other filters that determine
 * the blocks of layers below.  One thread sets them before the server forks.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/numbers.h"
#include "../lib/common/hash-spec.h"
#include "../lib/common/strata.h"
#include "config-files.h"
#include "params.h"

#define MIN_UNIT (64 * 1024)    /* bytes; the largest block size of
                                 * nbdkit's blocksize filter, and the
                                 * default of its cache and cow filters */
#define MAX_UNIT (1024 * 1024 * 1024) /* bytes */

struct params params = { .unit = MIN_UNIT, .audit = STRATA_DEFAULT };

/* Set by params_config.  params_complete creates params.hash from the first
 * four.
 */
static const char *digest = "sha256";
static int64_t block_size = -1;
static unsigned streams;
static bool linear;
static bool has_audit;          /* blkhash-update-audit was given */
static int64_t offset;          /* parameter of nbdkit's offset filter */

static int
parse_bool (const char *value, bool *result)
{
  int r = nbdkit_parse_bool (value);

  if (r == -1)
    return -1;
  *result = r;
  return 1;
}

static int
parse_missing (const char *value)
{
  if (strcmp (value, "read") == 0)
    params.missing = MISSING_READ;
  else if (strcmp (value, "fail") == 0)
    params.missing = MISSING_FAIL;
  else {
    nbdkit_error ("blkhash-missing must be read or fail: %s", value);
    return -1;
  }
  return 1;
}

static int
parse_audit (const char *value)
{
  has_audit = true;
  if (strata_parse_share (value, &params.audit))
    return 1;
  nbdkit_error ("blkhash-update-audit must be a number from 0 to 100, with up "
                "to six decimals, and a percent sign: %s", value);
  return -1;
}

/* Record parameters of other filters.  Some filters serve a part of the layer
 * below, and the part can begin at any byte (offset, partition, tar, ext2,
 * luks); others have blocks of their own, of a given size (cache, cow).
 * Returns 0, because KEY is not a parameter of this filter, or -1 on error.
 */
static int
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
  return size == -1 ? -1 : 0;
}

int
params_config (const char *key, const char *value)
{
  if (strcmp (key, "blkhash-digest") == 0)
    digest = value;
  else if (strcmp (key, "blkhash-block-size") == 0) {
    block_size = nbdkit_parse_size (value);
    return block_size == -1 ? -1 : 1;
  }
  else if (strcmp (key, "blkhash-streams") == 0)
    return nbdkit_parse_unsigned (key, value, &streams) == -1 ? -1 : 1;
  else if (strcmp (key, "blkhash-linear") == 0)
    return parse_bool (value, &linear);
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
  else if (strcmp (key, "blkhash-update-audit") == 0)
    return parse_audit (value);
  else if (strcmp (key, "blkhash-distinct-exports") == 0)
    return parse_bool (value, &params.distinct_exports);
  else
    return parse_other (key, value);
  return 1;
}

/* The digest can be NAME/SIZE, as in nbdcopy --blkhash. */
static int
make_hash (void)
{
  struct hash_spec spec;

  if (hash_spec_parse (digest, &spec) != 0 || spec.streams > 0 || spec.linear)
    errno = EINVAL;
  else
    params.hash = blkhash_opts_new (spec.digest);
  if (!params.hash) {
    if (errno == EINVAL)
      nbdkit_error ("blkhash-digest: unknown digest: %s", digest);
    else
      nbdkit_error ("blkhash: %m");
    return -1;
  }
  if (spec.block_size == 0)
    return 0;
  if (block_size != -1 && block_size != spec.block_size) {
    nbdkit_error ("the block sizes of blkhash-digest and blkhash-block-size "
                  "differ");
    return -1;
  }
  block_size = spec.block_size;
  return 0;
}

static int
check_update (void)
{
  if (has_audit && !params.update)
    nbdkit_error ("blkhash-update-audit is for blkhash-update=true");
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
  if (make_hash () == -1)
    return -1;
  if (block_size != -1 &&
      (block_size > UINT32_MAX ||
       blkhash_opts_set_block_size (params.hash, block_size) != 0)) {
    nbdkit_error ("blkhash-block-size must be a power of two from 4 to 16M");
    return -1;
  }
  if (blkhash_opts_set_streams (params.hash, streams) != 0) {
    nbdkit_error ("blkhash-streams must be from 0 to 1024");
    return -1;
  }
  if (linear && streams > 0) {
    nbdkit_error ("blkhash-linear cannot be used with blkhash-streams");
    return -1;
  }
  if (linear)
    blkhash_opts_set_linear (params.hash, 1);
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The leaf tables of exports.
 */

#include <config.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "blkhash-manifest.h"

#include "../lib/leaves/leaves.h"
#include "params.h"
#include "table.h"

/* Limits the bytes of memory for the partial blocks of all exports together. */
static struct pieces_budget budget = { .bound = 64 * 1024 * 1024 };

struct blkhash_leaves *
table_new (uint64_t size)
{
  return leaves_new_in_budget (params.hash, size, 0, &budget);
}

/* Returns the reason why this filter cannot update the manifest, or NULL. */
static const char *
why_unsuitable (struct blkhash_manifest_reader *r)
{
  uint64_t size = blkhash_manifest_reader_size (r);

  if (!blkhash_manifest_reader_is_complete (r))
    return "it is the manifest of a part of a disk";
  if (!blkhash_opts_same_hash (blkhash_manifest_reader_opts (r), params.hash))
    return "it has another digest, block size or construction";
  if (size / blkhash_opts_get_block_size (params.hash) > TABLE_MAX_BLOCKS)
    return "it has more than 2^31 blocks";
  return NULL;
}

/* Returns 0, or an errno value.  If the reader R failed,
 * blkhash_manifest_reader_error returns the reason, otherwise an empty string.
 */
static int
load (struct blkhash_manifest_reader *r, struct blkhash_leaves *l)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    err = blkhash_leaves_put_run (l, &run);
    if (err)
      return err;
  }
  return err == ENOENT ? 0 : err;
}

static void
report_error (const char *why)
{
  nbdkit_error ("blkhash-update: cannot update %s: %s", params.manifest, why);
}

/* Returns the table, or NULL after nbdkit_error. */
static struct blkhash_leaves *
load_suitable (struct blkhash_manifest_reader *r, uint64_t size)
{
  const char *why = why_unsuitable (r);
  struct blkhash_leaves *l = NULL;
  int err;

  if (!why) {
    l = table_new (size);
    err = l ? load (r, l) : errno;
    if (err == 0)
      return l;
    why = blkhash_manifest_reader_error (r);
    if (*why == '\0')
      why = strerror (err);
  }
  report_error (why);
  blkhash_leaves_free (l);
  return NULL;
}

struct blkhash_leaves *
table_load (int fd, uint64_t *size)
{
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct blkhash_manifest_reader *r = NULL;
  struct blkhash_leaves *l = NULL;

  if (lseek (fd, 0, SEEK_SET) == 0)
    r = blkhash_manifest_reader_new (fd, 0, reason, sizeof reason);
  if (r) {
    *size = blkhash_manifest_reader_size (r);
    l = load_suitable (r, *size);
  }
  else
    report_error (*reason ? reason : strerror (errno));
  blkhash_manifest_reader_free (r);
  return l;
}

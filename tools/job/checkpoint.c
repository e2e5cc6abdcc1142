/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Validate the checkpoint of an earlier run.
 *
 * It is an error if the request has other hash parameters than the checkpoint.
 * It is also an error if the number of bytes to hash differs, as with another
 * --size, while no file of the image was modified.  The checkpoint is not
 * discarded then: it may be the work of days, and the option may be mistyped.
 * But if a file of the image was modified, for example resized, the checkpoint
 * is stale.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash-manifest.h"

#include "../lib/common/sum-line.h"
#include "../lib/manifest/manifest-unfinished.h"
#include "io/new-file.h"
#include "job/checkpoint.h"
#include "job/identity.h"
#include "job/overwrite.h"
#include "source/source.h"
#include "util/error.h"
#include "util/request.h"

/* ---- Opening ---- */

/* Read the state, and check that the manifest may be replaced. */
static int
check_files (struct checkpoint *checkpoint, const char *path,
             const struct source *source, struct error *error)
{
  int has;

  checkpoint->state_path = state_path_of (path);
  if (!checkpoint->state_path)
    return error_errno (error, ENOMEM, "cannot hash");
  has = state_read (&checkpoint->state, checkpoint->state_path, error);
  if (has == -1)
    return -1;
  return overwrite_check_path (checkpoint->name, has ? OVERWRITE_CHECK_START
                                                     : OVERWRITE_CHECK_ALL,
                               source, error);
}

static void
destroy_state (struct checkpoint *checkpoint)
{
  state_destroy (&checkpoint->state);
  free (checkpoint->state_path);
}

int
checkpoint_open (struct checkpoint *checkpoint,
                 const struct hash_request *request,
                 const struct source *source, struct error *error)
{
  char *path = new_file_resolve (request->manifest);
  int r;

  *checkpoint = (struct checkpoint) { .name = request->manifest };
  r = path ? check_files (checkpoint, path, source, error)
    : error_errno (error, errno, "cannot open %s", request->manifest);
  if (r == 0)
    r = journal_file_open (&checkpoint->file, path, error);
  free (path);
  if (r == 0) {
    r = journal_file_scan (&checkpoint->file, &request->progress, error);
    if (r == -1)
      checkpoint_close (checkpoint);
  }
  else
    destroy_state (checkpoint);
  return r;
}

void
checkpoint_close (struct checkpoint *checkpoint)
{
  journal_file_close (&checkpoint->file);
  destroy_state (checkpoint);
}

/* ---- Compare with the request ---- */

/* Check that the manifest is of the whole image, not of a part of it, and has
 * the hash parameters HASH.  Returns 0 or -1.
 */
static int
check_params (const struct checkpoint *checkpoint,
              const struct blkhash_opts *hash,
              struct error *error)
{
  const struct blkhash_manifest_reader *reader = checkpoint->file.reader;
  const struct blkhash_opts *opts = blkhash_manifest_reader_opts (reader);
  char begun[BLKHASH_MAX_TAG_SIZE], asked[BLKHASH_MAX_TAG_SIZE];

  if (!blkhash_manifest_reader_is_complete (reader))
    return error_set (error, "%s is the manifest of a part of an image, which "
                      "--resume cannot continue", checkpoint->name);
  if (blkhash_opts_same_hash (opts, hash))
    return 0;
  blkhash_opts_get_tag (opts, begun, sizeof begun);
  blkhash_opts_get_tag (hash, asked, sizeof asked);
  return error_set (error, "%s was started with %s, not %s: use the same "
                    "options, or remove it to start over", checkpoint->name,
                    begun, asked);
}

static int
check_size (const struct checkpoint *checkpoint, const struct source *source,
            struct error *error)
{
  uint64_t size = blkhash_manifest_reader_size (checkpoint->file.reader);

  if (size == source->size)
    return 0;
  return error_set (error, "%s was started for %" PRIu64 " bytes, not %"
                    PRIu64 ": remove it to start over", checkpoint->name,
                    size, source->size);
}

/* ---- Validate ---- */

/* Returns the reason why a checkpoint with STATE is stale, or NULL. */
static const char *
stale_reason (const struct state *state, const struct identity *identity)
{
  if (!identity_is_of_same_files (state->identity, identity->text))
    return "was started with another image";
  if (strcmp (state->identity, identity->text) != 0)
    return "is older than the last change of the image";
  if (state->untrusted)
    return "was started when the image had just changed, or its times were in "
      "the future";
  return NULL;
}

/* Returns true if MD, the sum of the manifest, is also the sum in the state.  A
 * finished manifest has no id, so the sum identifies the manifest.
 */
static bool
has_published_sum (const struct checkpoint *checkpoint,
                   const unsigned char *md, unsigned md_len)
{
  char hex[SUM_HEX_SIZE];

  sum_line_hex (md, md_len, hex);
  return checkpoint->state.sum && strcmp (hex, checkpoint->state.sum) == 0;
}

static int
refuse_finished (const struct checkpoint *checkpoint, struct error *error)
{
  return error_set (error, "%s is complete: 'blksum manifest:%s' prints its "
                    "sum; to hash the image again, remove it", checkpoint->name,
                    checkpoint->name);
}

enum checkpoint_status
checkpoint_validate (const struct checkpoint *checkpoint,
                     const struct hash_request *request,
                     const struct source *source,
                     const struct identity *identity, const char **why,
                     struct error *error)
{
  const struct blkhash_manifest_reader *reader = checkpoint->file.reader;
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned md_len;
  bool finished;

  if (!reader)
    return CHECKPOINT_EMPTY;
  if (check_params (checkpoint, request->opts, error) == -1)
    return CHECKPOINT_ERROR;
  finished = blkhash_manifest_reader_sum (reader, md, &md_len) == 0;
  if (finished && has_published_sum (checkpoint, md, md_len) &&
      blkhash_manifest_reader_size (reader) == source->size &&
      !stale_reason (&checkpoint->state, identity))
    return CHECKPOINT_FINISHED;
  if (finished)
    return refuse_finished (checkpoint, error);

  *why = !checkpoint->state.journal ||
    strcmp (checkpoint->state.journal, manifest_reader_id (reader)) != 0
    ? "has no matching state file"
    : stale_reason (&checkpoint->state, identity);
  if (*why)
    return CHECKPOINT_STALE;
  if (check_size (checkpoint, source, error) == -1)
    return CHECKPOINT_ERROR;
  return checkpoint->file.blocks > 0 ? CHECKPOINT_RESUMABLE : CHECKPOINT_EMPTY;
}

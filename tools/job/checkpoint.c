/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Validate the checkpoint of an earlier run.
 *
 * A checkpoint with other hash parameters or another size is an error, and is
 * not discarded.  An option may be mistyped, and the checkpoint may be the work
 * of days.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sum-line.h"
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
check_files (struct earlier *earlier, const char *path,
             const struct source *source, struct error *error)
{
  int has;

  earlier->state_path = state_path_of (path);
  if (!earlier->state_path)
    return error_errno (error, ENOMEM, "cannot hash");
  has = state_read (&earlier->state, earlier->state_path, error);
  earlier->has_state = has == 1;
  if (has == -1)
    return -1;
  return target_check_path (earlier->name, has ? TARGET_OF_BLKSUM
                                               : TARGET_OF_USER,
                            source, error);
}

static void
destroy_state (struct earlier *earlier)
{
  state_destroy (&earlier->state);
  free (earlier->state_path);
}

int
earlier_open (struct earlier *earlier, const struct hash_request *request,
              const struct source *source, struct error *error)
{
  char *path = new_file_resolve (request->manifest);
  int r;

  *earlier = (struct earlier) { .name = request->manifest };
  r = path ? check_files (earlier, path, source, error)
    : error_errno (error, errno, "cannot open %s", request->manifest);
  if (r == 0)
    r = journal_file_open (&earlier->file, path, error);
  free (path);
  if (r == 0) {
    r = journal_file_look (&earlier->file, &request->progress,
                           &earlier->found, error);
    if (r == -1)
      earlier_close (earlier);
  }
  else
    destroy_state (earlier);
  return r;
}

void
earlier_close (struct earlier *earlier)
{
  journal_found_destroy (&earlier->found);
  journal_file_close (&earlier->file);
  destroy_state (earlier);
}

/* ---- Compare with the request ---- */

/* Check the hash parameters.  0 or -1. */
static int
check_kind (const struct earlier *earlier, const struct blkhash_opts *hash,
            struct error *error)
{
  char begun[BLKHASH_MAX_TAG_SIZE], asked[BLKHASH_MAX_TAG_SIZE];

  if (earlier->found.part)
    return error_set (error, "%s is the manifest of a part of an image, with "
                      "which --resume cannot go on", earlier->name);
  if (blkhash_opts_same_hash (earlier->found.opts, hash))
    return 0;
  blkhash_opts_get_tag (earlier->found.opts, begun, sizeof begun);
  blkhash_opts_get_tag (hash, asked, sizeof asked);
  return error_set (error, "%s was begun as %s, and not as %s: give the same "
                    "options, or remove it to start over", earlier->name,
                    begun, asked);
}

static int
check_size (const struct earlier *earlier, const struct source *source,
            struct error *error)
{
  if (earlier->found.size == source->size)
    return 0;
  return error_set (error, "%s was begun for %" PRIu64 " bytes, and not for %"
                    PRIu64 ": remove it to start over", earlier->name,
                    earlier->found.size, source->size);
}

/* ---- Validate ---- */

/* Returns the reason why STATE does not match the image, or NULL. */
static const char *
why_not_same (const struct state *state, const struct identity *identity)
{
  if (!identity_is_of_same_files (state->identity, identity->text))
    return "was begun with another image";
  if (strcmp (state->identity, identity->text) != 0)
    return "is older than the last change of the image";
  if (state->untrusted)
    return "was begun when the image had just changed, or was said to change "
      "in the future";
  return NULL;
}

/* True if the sum in the state is that of the manifest.  A finished manifest
 * has no id, so the sum identifies it.
 */
static bool
is_its_sum (const struct earlier *earlier)
{
  const struct journal_found *found = &earlier->found;
  char *hex = sum_line_hex (found->md, found->md_len);
  bool same = hex && earlier->has_state && earlier->state.sum &&
    strcmp (hex, earlier->state.sum) == 0;

  free (hex);
  return same;
}

static int
refuse_finished (const struct earlier *earlier, struct error *error)
{
  return error_set (error, "%s is complete: 'blksum manifest:%s' prints its "
                    "sum; to hash anew, remove it", earlier->name,
                    earlier->name);
}

enum earlier_use
earlier_judge (const struct earlier *earlier,
               const struct hash_request *request, const struct source *source,
               const struct identity *identity, const char **why,
               struct error *error)
{
  const struct journal_found *found = &earlier->found;

  if (!found->opts)
    return EARLIER_NOTHING;
  if (check_kind (earlier, request->opts, error) == -1)
    return EARLIER_REFUSED;
  if (found->finished && is_its_sum (earlier) && found->size == source->size &&
      !why_not_same (&earlier->state, identity))
    return EARLIER_FINISHED;
  if (found->finished)
    return refuse_finished (earlier, error);

  *why = !earlier->has_state ||
    strcmp (earlier->state.journal, found->id) != 0
    ? "has no state of the image beside it"
    : why_not_same (&earlier->state, identity);
  if (*why)
    return EARLIER_WRONG;
  if (check_size (earlier, source, error) == -1)
    return EARLIER_REFUSED;
  return found->blocks > 0 ? EARLIER_USABLE : EARLIER_NOTHING;
}

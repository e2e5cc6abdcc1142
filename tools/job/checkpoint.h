/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The checkpoint of an earlier run: an unfinished manifest, and its state.
 */

#ifndef BLKSUM_CHECKPOINT_H
#define BLKSUM_CHECKPOINT_H

#include <stdbool.h>

#include "job/journal-file.h"
#include "job/state.h"

struct error;
struct hash_request;
struct identity;
struct source;

struct earlier {
  const char *name;             /* of the manifest, from the command line */
  struct journal_file file;
  char *state_path;
  struct state state;           /* valid if has_state */
  bool has_state;
  struct journal_found found;
};

/* Open the manifest of REQUEST, of SOURCE, and scan it.  The file is created if
 * it does not exist.  0, or -1 with the reason, for example that the file must
 * not be replaced.
 */
int earlier_open (struct earlier *earlier, const struct hash_request *request,
                  const struct source *source, struct error *error);
void earlier_close (struct earlier *earlier);

enum earlier_use {
  EARLIER_REFUSED = -1,         /* an error, with the reason */
  EARLIER_NOTHING,              /* there are no blocks: start */
  EARLIER_WRONG,                /* it is stale, see WHY: start over */
  EARLIER_USABLE,               /* it can be resumed */
  EARLIER_FINISHED,             /* the last run was interrupted after it had
                                 * published the manifest */
};

/* Validate the checkpoint for SOURCE, which has this IDENTITY. */
enum earlier_use earlier_judge (const struct earlier *earlier,
                                const struct hash_request *request,
                                const struct source *source,
                                const struct identity *identity,
                                const char **why, struct error *error);

#endif /* BLKSUM_CHECKPOINT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The checkpoint, which an earlier run of --resume left: its manifest, usually
 * unfinished, and its state file.
 */

#ifndef BLKSUM_CHECKPOINT_H
#define BLKSUM_CHECKPOINT_H

#include "job/journal-file.h"
#include "job/state.h"

struct error;
struct hash_request;
struct identity;
struct source;

struct checkpoint {
  const char *name;             /* the manifest as named on the command line */
  struct journal_file file;
  char *state_path;
  struct state state;           /* all zero if there is no state file */
};

/* Open and scan the manifest of REQUEST.  The file is created if it does not
 * exist.  Returns 0, or -1 with the reason, for example that the file must not
 * be replaced because it is a file of SOURCE; then CHECKPOINT must not be
 * closed.
 */
int checkpoint_open (struct checkpoint *checkpoint,
                     const struct hash_request *request,
                     const struct source *source, struct error *error);
void checkpoint_close (struct checkpoint *checkpoint);

enum checkpoint_status {
  CHECKPOINT_ERROR = -1,        /* it can be neither resumed nor replaced, for
                                 * the reason in ERROR */
  CHECKPOINT_EMPTY,             /* it has no blocks yet: hash the whole image */
  CHECKPOINT_STALE,             /* it cannot be used, for the reason *WHY, such
                                 * as a modified image: start over */
  CHECKPOINT_RESUMABLE,         /* it can be resumed */
  CHECKPOINT_FINISHED,          /* the earlier run was interrupted after it had
                                 * published the manifest */
};

/* Validate the checkpoint for SOURCE, whose identity is IDENTITY. */
enum checkpoint_status checkpoint_validate (const struct checkpoint *checkpoint,
                                            const struct hash_request *request,
                                            const struct source *source,
                                            const struct identity *identity,
                                            const char **why,
                                            struct error *error);

#endif /* BLKSUM_CHECKPOINT_H */

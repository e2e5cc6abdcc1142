/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an earlier run left: a manifest that is not finished, and its state.
 */

#ifndef BLKSUM_EARLIER_H
#define BLKSUM_EARLIER_H

#include <stdbool.h>

#include "job/journal-file.h"
#include "job/state.h"

struct error;
struct hash_request;
struct identity;
struct source;

struct earlier {
  const char *name;             /* of the manifest, as the user gave it */
  struct journal_file file;
  char *state_path;
  struct state state;           /* if it was there */
  bool has_state;
  struct journal_found found;
};

/* Open the manifest of REQUEST, of SOURCE, make it if it is not there, and look
 * at what is in it.  0, or -1 with the reason, such as that it is something
 * that is not to be replaced.
 */
int earlier_open (struct earlier *earlier, const struct hash_request *request,
                  const struct source *source, struct error *error);
void earlier_close (struct earlier *earlier);

enum earlier_use {
  EARLIER_REFUSED = -1,         /* with the reason */
  EARLIER_NOTHING,              /* begin */
  EARLIER_WRONG,                /* start over, and WHY */
  EARLIER_USABLE,               /* go on */
  EARLIER_FINISHED,             /* by a run that was ended just then */
};

/* What is to be done with it for SOURCE, of this IDENTITY? */
enum earlier_use earlier_judge (const struct earlier *earlier,
                                const struct hash_request *request,
                                const struct source *source,
                                const struct identity *identity,
                                const char **why, struct error *error);

#endif /* BLKSUM_EARLIER_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over what is missing in an export: ask for its extents, read it.
 *
 * It learns, but decides nothing.  The plugin is only asked through the
 * connection that was the last: it is there, it is prepared, and it has the
 * right name and the right thread.  When another connection comes, the pass is
 * given up.
 */

#ifndef NBDKIT_BLKHASH_PASS_H
#define NBDKIT_BLKHASH_PASS_H

#include <stdbool.h>
#include <stdint.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

struct blkhash_leaves;
struct conn;
struct export;

struct pass {
  nbdkit_next *next;
  struct conn *conn;
  struct export *export;
  struct blkhash_leaves *leaves;
  uint64_t joins;               /* export->joins when this started */
  uint64_t changes;             /* of the disk, before the fold */
  bool saved;                   /* the new manifest is ours, see manifest.h */
  bool own_only;                /* only what others cannot be made to see; the
                                 * connection need not be the last */
};

/* Is the connection still the last? */
bool pass_is_last_locked (const struct pass *p);

/* How many bytes are missing. */
uint64_t pass_missing (struct blkhash_leaves *leaves);

/* Learn what is zero of what is missing.  When the plugin cannot answer, all
 * of it has to be read.
 */
void pass_query_extents (const struct pass *p);

/* Is anything missing that is hidden from the connection? */
bool pass_is_hidden (const struct pass *p);

/* Read the MISSING bytes.  0, or why the rest could not be read; ECANCELED if
 * there is another connection now, ESTALE if this one may not see any more what
 * others changed.
 */
int pass_read (const struct pass *p, uint64_t missing);

#endif /* NBDKIT_BLKHASH_PASS_H */

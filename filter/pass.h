/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over what is missing in an export: query its extents, and find which
 * ranges must be read; pass-read.h reads them.
 *
 * finish.c decides whether there is a pass, and publishes.  Requests go through
 * the connection that was the last, in its .finalize: it is prepared, for the
 * right export, and in the right thread for nbdkit's thread model.  Rejected:
 * a context of our own, which bypasses the thread model, and can abort nbdkit
 * 1.32.  The pass is cancelled if another connection joins.
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
  uint64_t joins;               /* export->joins at the start */
  uint64_t changes;             /* disk->changes before the fold */
  uint64_t logged;              /* the same of disk->logged */
  bool saved;                   /* it owns the new file, see manifest.h */
  bool own_only;                /* only read changes that no flush shows to
                                 * others; it need not be the last */
};

/* Is the connection still the last? */
bool pass_is_last_locked (const struct pass *p);

/* Why a pass must stop.  Not errno values: the plugin can fail with any. */
enum {
  PASS_CANCELED = -1,           /* another connection has joined */
  PASS_STALE = -2               /* others changed the disk, and this connection
                                 * may not see that */
};

/* Returns 0 if the pass need not stop. */
int pass_why_stop (const struct pass *p);

/* How many bytes of the table are missing. */
uint64_t pass_missing (struct blkhash_leaves *leaves);

/* Query extents of what is missing, and observe those that are zero.  If the
 * plugin has no extents or fails, the rest stays missing.
 */
void pass_query_extents (const struct pass *p);

/* Is anything missing that is hidden from the connection? */
bool pass_is_hidden (const struct pass *p);

/* The next range that must be read, at OFFSET or after it.  False: none. */
bool pass_next_range (const struct pass *p, uint64_t offset,
                      uint64_t *start, uint64_t *len);

#endif /* NBDKIT_BLKHASH_PASS_H */

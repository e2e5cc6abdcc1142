/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over the missing ranges of an export: query their extents, and find
 * the ranges that must be read; pass-read.c reads them.
 *
 * finish.c decides whether there is a pass, and publishes the sum.  Requests
 * use the last connection of the export, in its .finalize: that connection is
 * prepared, serves the right export, and its thread is right for nbdkit's
 * thread model.  Rejected: a context of our own (nbdkit_next_context_open),
 * which bypasses the thread model, and can abort nbdkit 1.32.  The pass is
 * cancelled if another connection joins.
 *
 * A pass with OWN_ONLY reads back changes of a connection that disconnects,
 * through this connection, which need not be the last one.
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
struct strata;

struct pass {
  nbdkit_next *next;
  struct conn *conn;
  struct export *export;
  struct blkhash_leaves *leaves;
  uint64_t joins;               /* export->joins at the start */
  uint64_t changes;             /* disk->changes before the fold */
  uint64_t logged;              /* disk->logged before the fold */
  bool saved;                   /* the pass owns the new file, see manifest.h */
  bool own_only;                /* read only changes by CONN that no flush makes
                                 * visible to others, see visibility_own */
  const struct strata *sample;  /* units to read, instead of missing ranges; or
                                 * NULL */
  uint64_t sample_unit;         /* bytes */
};

/* Returns true if no connection has joined since the start, and none is left.
 */
bool pass_is_last_locked (const struct pass *p);

/* Why a pass must stop.  These differ from all errno values, which are errors
 * of the plugin.
 */
enum {
  PASS_CANCELED = -1,           /* another connection has joined, or the export
                                 * is broken */
  PASS_STALE = -2               /* others changed the disk, and this connection
                                 * might not see it */
};

/* Returns 0 if the pass need not stop. */
int pass_why_stop (const struct pass *p);

/* Returns the number of bytes that are missing in the table. */
uint64_t pass_missing (struct blkhash_leaves *leaves);

/* Query the extents of the missing ranges, and observe those that are zero.  If
 * the plugin has no extents or fails, the other ranges stay missing.
 */
void pass_query_extents (const struct pass *p);

/* Returns true if reads by the connection do not prove the content of all
 * ranges that this pass must read.
 */
bool pass_is_hidden (const struct pass *p);

/* Choose the SAMPLE to audit of an export whose table began with a manifest,
 * and set p->sample: its units are read, and compared with the table.  Returns
 * false if there is nothing to read.
 */
bool pass_choose_sample (struct pass *p, struct strata *sample);

/* Find the next range that must be read, at OFFSET or after it.  Returns false
 * if there is none.
 */
bool pass_next_range (const struct pass *p, uint64_t offset,
                      uint64_t *start, uint64_t *len);

#endif /* NBDKIT_BLKHASH_PASS_H */

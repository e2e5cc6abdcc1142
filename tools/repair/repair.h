/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job of blkhash repair, with its request and its result.
 */

#ifndef BLKSUM_REPAIR_H
#define BLKSUM_REPAIR_H

#include "job/job.h"

/* The outcome for a bad block. */
enum repair_state {
  REPAIR_DONE,
  REPAIR_POSSIBLE,              /* a source has the block; with --dry-run */
  REPAIR_IMPOSSIBLE,            /* no source has it */
  REPAIR_UNALIGNED,             /* direct I/O cannot write it */
  REPAIR_FAILED,                /* it was written, and is still bad */
  REPAIR_STATES,
};

struct repair_range {
  uint64_t start, length;       /* bytes */
  enum repair_state state;
};

/* The request of blkhash repair. */
struct repair_request {
  struct hash_request hash;     /* the operand is the disk to repair */
  const char *manifest;         /* a file */
  const char *expected_sum;     /* sum that the manifest must have, or
                                 * "none" for any */
  const char **sources;         /* operands */
  size_t nr_sources;
  uint32_t limit;               /* maximum number of bad blocks, in millionths
                                 * of a percent of the blocks that are data
                                 * according to the manifest */
  bool dry_run;                 /* nothing is written */

  /* Called for each range of bad blocks, after their repair, whether it
   * succeeded or not.  If it returns an errno value, the job ends.
   */
  int (*found) (void *opaque, const struct repair_range *range);
  void *opaque;
};

/* The result of blkhash repair. */
struct repair_result {
  uint64_t blocks[REPAIR_STATES]; /* number of bad blocks with each outcome */
  bool unverified;              /* a block was written, but not verified before
                                 * the repair failed */
};

/* Repair the operand.  Returns 0, also if bad blocks remain; or -1 with the
 * reason, which is about *OPERAND.  After an error RESULT counts what was
 * repaired before it.
 */
int job_repair (const struct repair_request *request,
                struct repair_result *result, const char **operand,
                struct error *error);

#endif /* BLKSUM_REPAIR_H */

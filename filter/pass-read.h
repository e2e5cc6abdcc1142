/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass (see pass.h) reads the missing ranges of an export.  It keeps several
 * reads in flight if the thread model permits that, and if the plugin waits in
 * reads.
 */

#ifndef NBDKIT_BLKHASH_PASS_READ_H
#define NBDKIT_BLKHASH_PASS_READ_H

#include <stdbool.h>
#include <stdint.h>

struct pass;

struct range {
  uint64_t start, end;          /* bytes; END is exclusive */
};

/* Set whether nbdkit's thread model is PARALLEL.  Must be called before the
 * first connection is opened.
 */
void pass_read_set_parallel (bool parallel);

/* Read and observe the ranges that pass_next_range finds.  MISSING is the total
 * size of these ranges in bytes, for debug messages; it is not used if own_only
 * is set in P.  Returns 0; a positive errno value if a read failed, whose range
 * is stored in *FAILED, or if there was no memory, and *FAILED is empty; or
 * PASS_CANCELED or PASS_STALE if the pass had to stop.  When the function
 * returns, no read is in flight.
 */
int pass_read (const struct pass *p, uint64_t missing,
               struct range *failed);

#endif /* NBDKIT_BLKHASH_PASS_READ_H */

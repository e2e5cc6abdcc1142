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

/* Set whether nbdkit's thread model is PARALLEL.  Must be called before the
 * first connection is opened.
 */
void pass_read_set_parallel (bool parallel);

/* Read and observe the ranges that pass_next_range finds.  MISSING is the total
 * size of these ranges in bytes, for debug messages; it is not used if own_only
 * is set in P.  Returns 0; a positive errno value if a read failed or there was
 * no memory; or PASS_CANCELED or PASS_STALE if the pass had to stop.  When the
 * function returns, no read is in flight.
 */
int pass_read (const struct pass *p, uint64_t missing);

#endif /* NBDKIT_BLKHASH_PASS_READ_H */

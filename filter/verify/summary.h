/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of an export was verified.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SUMMARY_H
#define NBDKIT_BLKHASH_VERIFY_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct export;

struct summary {
  /* Bytes of the blocks in each state.  VERIFIED are those of BLOCK_GOOD.  ZERO
   * are those that are zero in the manifest and are not verified, because of
   * ZERO_SKIP; NOT_READ are the others of BLOCK_NOT_READ.
   */
  uint64_t verified, zero, bad, unreadable, in_flight, not_read;
  uint64_t unreadable_in_flight;
  uint64_t transient;           /* see tally.h */
  bool good;                    /* VERIFIED is all of the disk */
};

void summary_get_locked (const struct export *export,
                         struct summary *summary);

#endif /* NBDKIT_BLKHASH_VERIFY_SUMMARY_H */

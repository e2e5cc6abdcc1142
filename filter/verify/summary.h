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
  /* Bytes of the blocks in each state.  VERIFIED are those of BLOCK_OK.
   * MISSING_ZERO are those of BLOCK_MISSING that are zero in the manifest and
   * are not verified, because of ZERO_SKIP; MISSING are the others.
   */
  uint64_t verified, differs, unreadable, repaired, missing;
  uint64_t unreadable_repaired, missing_zero;
  uint64_t transient;           /* see tally.h */
  bool ok;                      /* VERIFIED is all of the disk */
};

void summary_get_locked (const struct export *export,
                         struct summary *summary);

#endif /* NBDKIT_BLKHASH_VERIFY_SUMMARY_H */

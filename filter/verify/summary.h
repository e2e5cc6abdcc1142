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
  uint64_t verified, zero, bad, unreadable, in_flight, not_read; /* bytes */
  uint64_t unreadable_in_flight; /* bytes */
  uint64_t transient, repaired, failed_writes; /* see tally.h */
  bool limit_reached;
  bool good;                    /* all of the disk is verified or zero */
};

void summary_get_locked (const struct export *export,
                         struct summary *summary);

#endif /* NBDKIT_BLKHASH_VERIFY_SUMMARY_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: functions that access exports, disks and connections abort if
 * their caller does not hold exports_lock.  ThreadSanitizer does not find every
 * caller without the lock: most callers took and released it shortly before,
 * which orders the threads, so that ThreadSanitizer sees no race.
 *
 * The function of the filter is weak, so a test that is linked with this file
 * calls the one below.
 */

#include <config.h>

#include <assert.h>

#include "blkhash/exports-lock.h"
#include "blkhash/test-locks.h"

void
exports_assert_locked (void)
{
  assert (locks_holds (&exports_lock));
}

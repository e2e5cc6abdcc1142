/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline: with blkhash-update, the leaves of the manifest that an earlier
 * server wrote.  The leaf table of one export begins with them.
 *
 * The baseline is valid until the first change begins, or a read contradicts a
 * leaf table (see observe.c).  Until then the manifest file is left as it is.
 * Before the change, or at the end of that read, it is emptied and synced, like
 * the manifest of a sum that is withdrawn.  So a manifest that is in the file
 * always describes the disk as this filter left it.
 */

#ifndef NBDKIT_BLKHASH_BASELINE_H
#define NBDKIT_BLKHASH_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

struct blkhash_leaves;

/* Called between files_open and files_start: load the manifest.  Returns 0, or
 * -1 after nbdkit_error.  There is no baseline without blkhash-update, or if
 * the manifest file is empty.
 */
int baseline_load (void);

void baseline_free (void);

/* The size in bytes of the disk that the manifest describes. */
uint64_t baseline_size (void);

/* The functions below are called with exports_lock held, or before the first
 * connection.
 */
bool baseline_is_valid_locked (void);

/* Returns the leaf table of a valid baseline of SIZE bytes, or NULL.  Only the
 * first caller gets the table, and then owns it.
 */
struct blkhash_leaves *baseline_take_locked (uint64_t size);

/* Make the baseline invalid.  Returns true if it was valid; then the caller
 * must wait in report_await_withdrawals.
 */
bool baseline_withdraw_locked (void);

#endif /* NBDKIT_BLKHASH_BASELINE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: a server whose result file and manifest are in a directory of
 * their own, and what is in them.
 */

#ifndef NBDKIT_BLKHASH_TEST_RESULT_H
#define NBDKIT_BLKHASH_TEST_RESULT_H

#include <stdbool.h>
#include <stdint.h>

/* Start a server with a disk of SIZE bytes, as server_start; result_stop, which
 * can be the tear-down of a group, also removes the directory.  Both return 0,
 * or -1.
 */
int result_start (uint64_t size, uint32_t block_size, bool with_manifest);
int result_stop (void **state);

/* Returns true if TEXT is in the result file. */
bool result_has (const char *text);

/* Returns true if the result file has, for the export NAME, the sum of the disk
 * as it is now.
 */
bool result_has_sum (const char *name);

/* Returns the number of sums in the result file.  Asserts that each is that of
 * the disk.
 */
unsigned result_sums (void);

#endif /* NBDKIT_BLKHASH_TEST_RESULT_H */

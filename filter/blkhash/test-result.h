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

/* Start a server with a disk of SIZE bytes, as server_start.  Returns 0, or -1.
 */
int result_start (uint64_t size, uint32_t block_size, bool with_manifest);

/* Stop the server, remove the directory, and assert that the filter left no
 * other file in it.  Can be the last test of a group, but not its tear-down,
 * because cmocka ignores an error of that.
 */
void result_stop (void **state);

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

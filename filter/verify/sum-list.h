/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sums of blkhash-verify-sums, by the names of exports.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SUM_LIST_H
#define NBDKIT_BLKHASH_VERIFY_SUM_LIST_H

/* Read the list PATH, before the server forks.  Returns 0, or -1 after
 * nbdkit_error.
 */
int sum_list_load (const char *path);
void sum_list_free (void);

/* Returns the sum of NAME, with its tag, or NULL if there is none. */
const char *sum_list_find (const char *name);

#endif /* NBDKIT_BLKHASH_VERIFY_SUM_LIST_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of each export when the server ends.
 */

#ifndef NBDKIT_BLKHASH_FINAL_H
#define NBDKIT_BLKHASH_FINAL_H

/* The server ends: of each export without a sum, say so. */
void final_report (void);

#endif /* NBDKIT_BLKHASH_FINAL_H */

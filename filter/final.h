/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of each export when the server ends.
 */

#ifndef NBDKIT_BLKHASH_FINAL_H
#define NBDKIT_BLKHASH_FINAL_H

/* Called once, after the last connection: report exports without a sum. */
void final_report (void);

#endif /* NBDKIT_BLKHASH_FINAL_H */

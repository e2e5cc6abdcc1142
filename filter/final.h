/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The final report, written when the server ends.
 */

#ifndef NBDKIT_BLKHASH_FINAL_H
#define NBDKIT_BLKHASH_FINAL_H

/* Report the exports that have no sum yet.  If all of them are unused, they are
 * reported, too, so that the file is not empty.  Called once, after the last
 * connection was closed.
 */
void final_report (void);

#endif /* NBDKIT_BLKHASH_FINAL_H */

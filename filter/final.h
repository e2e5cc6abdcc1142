/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The final report, written when the server ends.
 */

#ifndef NBDKIT_BLKHASH_FINAL_H
#define NBDKIT_BLKHASH_FINAL_H

/* Publish the sum of each export whose content is known, and report why other
 * exports that clients read or changed have none.  If no export has a line
 * after that, the unused exports are reported too, so that the result file is
 * not empty.  Called once, from .cleanup, after the last connection has ended.
 */
void final_report (void);

#endif /* NBDKIT_BLKHASH_FINAL_H */

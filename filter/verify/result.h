/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file: a line for each export.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_RESULT_H
#define NBDKIT_BLKHASH_VERIFY_RESULT_H

/* Replace the file.  Only one thread at a time may call it. */
void result_write (void);

#endif /* NBDKIT_BLKHASH_VERIFY_RESULT_H */

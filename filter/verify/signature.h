/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognize files of this filter by their first bytes.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SIGNATURE_H
#define NBDKIT_BLKHASH_VERIFY_SIGNATURE_H

/* Returns 1 if the content of FD begins with SIGNATURE, 0 if not, or -1 with
 * errno if FD cannot be read.
 */
int signature_is (int fd, const char *signature);

#endif /* NBDKIT_BLKHASH_VERIFY_SIGNATURE_H */

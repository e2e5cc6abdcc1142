/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognize files of this filter by their first bytes.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_SIGNATURE_H
#define NBDKIT_BLKHASH_VERIFY_SIGNATURE_H

#include <stdbool.h>

/* Returns true if the content of FD begins with SIGNATURE. */
bool signature_is (int fd, const char *signature);

#endif /* NBDKIT_BLKHASH_VERIFY_SIGNATURE_H */

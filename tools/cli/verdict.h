/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the result for an image, in the format of sha256sum --check.
 */

#ifndef BLKSUM_VERDICT_H
#define BLKSUM_VERDICT_H

#include <stdint.h>

/* Print "NAME: VERDICT" on stdout.  Returns 0, or an errno value if it could
 * not be written.
 */
int verdict_print (const char *name, const char *verdict);

/* Print on stdout that the LEN bytes after the image NAME were not read.  LEN
 * is UINT64_MAX if their number is not known; if it is 0, nothing is printed.
 * Returns 0, or an errno value if the line could not be written.
 */
int verdict_print_trailing (const char *name, uint64_t len);

#endif /* BLKSUM_VERDICT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass reads what is missing in an export.
 */

#ifndef NBDKIT_BLKHASH_PASS_READ_H
#define NBDKIT_BLKHASH_PASS_READ_H

#include <stdint.h>

struct pass;

/* Read the MISSING bytes.  0, or an errno value: as pass_why_stop, or the error
 * of the plugin.
 */
int pass_read (const struct pass *p, uint64_t missing);

#endif /* NBDKIT_BLKHASH_PASS_READ_H */

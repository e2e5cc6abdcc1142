/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Detect buffers of zeros, at memory speed.  Thread-safe.
 */

#ifndef BLKHASH_ZERO_H
#define BLKHASH_ZERO_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if all LEN bytes of BUF are zero, and if LEN is 0. */
bool is_zero (const void *buf, size_t len);

#endif /* BLKHASH_ZERO_H */

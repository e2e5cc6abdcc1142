/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is this buffer all zero?  Runs at memory speed, in any thread.
 */

#ifndef BLKHASH_ZERO_H
#define BLKHASH_ZERO_H

#include <stdbool.h>
#include <stddef.h>

/* True if all LEN bytes of BUF are zero; an empty buffer is. */
bool is_zero (const void *buf, size_t len);

#endif /* BLKHASH_ZERO_H */

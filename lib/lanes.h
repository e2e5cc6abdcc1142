/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of many messages of one length at a time, each in a lane of its own:
 * the kernels for this CPU, and which of them to use for how many messages.
 * Knows nothing of blocks, nor of OpenSSL, which is as fast for one message.
 */

#ifndef BLKHASH_SHA256_LANES_H
#define BLKHASH_SHA256_LANES_H

#include <stddef.h>

#include "lane-kernel.h"        /* SHA256_MAX_LANES */

struct sha256_lanes;            /* immutable, shared by threads */

/* NULL with errno ENOTSUP if there is no kernel for this CPU or BLKHASH_CPU
 * lists none, EIO if a kernel computes wrong results, or ENOMEM.
 *
 * BLKHASH_CPU, for tests, is a comma separated list of kernels ("avx512-x16")
 * and families of them ("avx512"): no other is used.
 */
struct sha256_lanes *sha256_lanes_create (void);
void sha256_lanes_free (struct sha256_lanes *lanes);

/* COUNT messages of one length wait, at least one: how many of them to hash
 * next for the least time in total.  1 means that the caller's own hash of one
 * message is as fast.
 */
size_t sha256_lanes_next (const struct sha256_lanes *lanes, size_t count);

/* The least number of messages that are hashed in the least time for each:
 * more at once are no faster.
 */
size_t sha256_lanes_enough (const struct sha256_lanes *lanes);

/* Hash COUNT messages of LEN bytes each.  DATA[i] has
 * any alignment; MD[i] gets 32 bytes.
 */
void sha256_lanes_hash (const struct sha256_lanes *lanes,
                        const void *const data[], size_t len,
                        unsigned char *const md[], size_t count);

#endif /* BLKHASH_SHA256_LANES_H */

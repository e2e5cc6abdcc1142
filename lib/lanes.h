/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A hash of many messages of one length at a time, each in a lane of its own:
 * the kernels for this CPU, and which of them to use for how many messages.
 * Knows nothing of blocks, nor of OpenSSL, which is as fast for one message.
 */

#ifndef BLKHASH_LANES_H
#define BLKHASH_LANES_H

#include <stddef.h>

#include "lane-kernel.h"        /* LANES_MAX */

struct lanes;                   /* immutable, shared by threads */

/* HASH is a name, as digest_name says it.  NULL with errno ENOTSUP if there is
 * no kernel of that hash for this CPU or BLKHASH_CPU lists none, EIO if a kernel
 * computes wrong results, or ENOMEM.
 *
 * BLKHASH_CPU, for tests, is a comma separated list of kernels ("avx512-x16")
 * and families of them ("avx512"): no other is used, of any hash.
 */
struct lanes *lanes_create (const char *hash);
void lanes_free (struct lanes *lanes);

/* COUNT messages of one length wait, at least one: how many of them to hash
 * next for the least time in total.  1 means that the caller's own hash of one
 * message is as fast.
 */
size_t lanes_next (const struct lanes *lanes, size_t count);

/* The least number of messages that are hashed in the least time for each:
 * more at once are no faster.
 */
size_t lanes_enough (const struct lanes *lanes);

/* Hash COUNT messages of LEN bytes each.  DATA[i] has any alignment; MD[i] gets
 * the digest.
 */
void lanes_hash (const struct lanes *lanes, const void *const data[], size_t len,
                 unsigned char *const md[], size_t count);

#endif /* BLKHASH_LANES_H */

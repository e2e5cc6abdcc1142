/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A hash of many messages of one length at a time, each in a lane of its own:
 * the kernels for this CPU, and which of them to use for how many messages.
 * Knows nothing of blocks, nor of OpenSSL, which can be as fast for few.
 */

#ifndef BLKHASH_LANES_H
#define BLKHASH_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "lanes/lane-kernel.h"        /* LANES_MAX */
#include "lanes/lanes-measure.h"      /* struct lane_one */
#include "lanes/lanes-plan.h"

struct lanes;                   /* any number of threads can use one at once */

/* HASH is a name, as digest_name says it.  NULL with errno ENOTSUP if there is
 * no kernel of that hash for this CPU or BLKHASH_CPU lists none, EIO if a
 * kernel that is to be used computes wrong results, or ENOMEM.
 *
 * BLKHASH_CPU, for tests, is a comma separated list of kernels ("avx512-x16")
 * and families of them ("avx512"): no other is used, of any hash.
 */
struct lanes *lanes_create (const char *hash);
void lanes_free (struct lanes *lanes);

/* The kernels of the hash that may be used: a bit for each, in its order. */
unsigned lanes_usable (const struct lanes *lanes);

/* Hash the first of COUNT messages of LEN bytes each, as many as is best, and
 * return how many, at most COUNT; 0: the caller's own hash of one message is as
 * fast for the next.  DATA[i] has any alignment; MD[i] gets the digest.
 */
size_t lanes_hash (const struct lanes *lanes, const void *const data[],
                   size_t len, unsigned char *const md[], size_t count);

/* The least number of messages that are hashed in about the least time for
 * each: more at once are hardly faster.
 */
size_t lanes_full_group (const struct lanes *lanes);

/* The choice is a guess at first; lanes_measure makes it by what kernels cost
 * on this CPU.  That takes some hundred microseconds, so whoever hashes tells
 * with lanes_add how many bytes that were, and calls lanes_measure when it is
 * due: after the first MiBs in this process, and once more some seconds later.
 * It does nothing when it is not due, or is just being done.  0, or EIO if any
 * kernel computes wrong results.
 */
void lanes_add (struct lanes *lanes, size_t bytes);
bool lanes_measure_is_due (const struct lanes *lanes);
int lanes_measure (struct lanes *lanes, const struct lane_one *one);

/* For who wants to see it: measure now, and tell the costs and the plan that
 * they make, or the one that is forced.  0, what ONE returned, or EIO if any
 * kernel computes wrong results.
 */
int lanes_measure_costs (const struct lanes *lanes, const struct lane_one *one,
                         struct lane_costs *costs, struct lane_plan *plan);

/* Is KERNEL in LIST, the value of BLKHASH_CPU or NULL for all, and can a CPU
 * with FEATURES, of cpu.h, run it?
 */
bool lane_kernel_is_usable (const struct lane_kernel *kernel,
                            unsigned features, const char *list);

#endif /* BLKHASH_LANES_H */

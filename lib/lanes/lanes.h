/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash many messages of the same length at a time, each in its own lane, with
 * the best kernel of this CPU for their number.  For few messages the caller's
 * own hash of one message, OpenSSL's for instance, can be as fast.
 */

#ifndef BLKHASH_LANES_H
#define BLKHASH_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "lanes/lane-kernel.h"        /* LANES_MAX */
#include "lanes/lanes-measure.h"      /* struct lane_one */
#include "lanes/lanes-plan.h"

struct lanes;                   /* any number of threads can use one at once */

/* HASH is a name, as digest_name returns it.  NULL with errno ENOTSUP if there
 * is no kernel of that hash for this CPU or BLKHASH_CPU lists none, EIO if a
 * kernel that is to be used computes wrong results, or ENOMEM.
 *
 * BLKHASH_CPU, for tests, is a comma separated list of kernels ("avx512-x16")
 * and families of them ("avx512"): no other is used, of any hash.
 */
struct lanes *lanes_create (const char *hash);
void lanes_free (struct lanes *lanes);

/* The kernels of the hash that may be used: a bit for each, in its order. */
unsigned lanes_usable (const struct lanes *lanes);

/* Hash the first of COUNT messages of LEN bytes each with one call of a kernel.
 * Returns how many were hashed, at most COUNT; 0: hash the next message with
 * the caller's own hash, which is as fast.  DATA[i] has any alignment; MD[i]
 * gets the digest.
 */
size_t lanes_hash (const struct lanes *lanes, const void *const data[],
                   size_t len, unsigned char *const md[], size_t count);

/* The least number of messages whose time per message is about the minimum:
 * more at once are hardly faster.
 */
size_t lanes_full_group (const struct lanes *lanes);

/* The plan is a guess at first.  lanes_measure replaces it by one that is based
 * on measured costs, which takes some hundred microseconds.  The caller reports
 * the bytes it hashes with lanes_add, and calls lanes_measure when it is due:
 * after the first MiBs in this process, and again some seconds later.  It does
 * nothing if it is not due, or another thread is measuring.  0, or EIO if any
 * kernel computes wrong results.
 */
void lanes_add (struct lanes *lanes, size_t bytes);
bool lanes_measure_is_due (const struct lanes *lanes);
int lanes_measure (struct lanes *lanes, const struct lane_one *one);

/* For diagnostics: measure now, and store the costs and the plan based on them,
 * or the forced one.  The plan in use does not change.  0, the error of ONE, or
 * EIO if any kernel computes wrong results.
 */
int lanes_diagnose (const struct lanes *lanes, const struct lane_one *one,
                         struct lane_costs *costs, struct lane_plan *plan);

/* Is KERNEL in LIST, the value of BLKHASH_CPU, NULL for all, and can a CPU with
 * FEATURES, of cpu.h, run it?
 */
bool lane_kernel_is_usable (const struct lane_kernel *kernel,
                            unsigned features, const char *list);

#endif /* BLKHASH_LANES_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash many messages of the same length at a time, each in its own lane of a
 * SIMD (multi-buffer) implementation, which is called a kernel.  A plan selects
 * the kernel that is best on this CPU for each number of messages.  For few
 * messages the caller's own hash function, such as OpenSSL's, can be as fast.
 */

#ifndef BLKHASH_LANES_H
#define BLKHASH_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "lanes/lane-kernel.h"        /* LANES_MAX */
#include "lanes/lanes-measure.h"      /* struct single_hash */

struct lanes;                   /* thread-safe */

/* HASH is the name of a hash, as returned by digest_name.  Returns NULL with
 * errno set to ENOTSUP if that hash has no kernel for this CPU, or none that
 * BLKHASH_CPU lists; EIO if a kernel of the first plan computes wrong results;
 * or ENOMEM.
 *
 * BLKHASH_CPU, for tests, is a comma-separated list of kernels ("avx512-x16")
 * and families of kernels ("avx512").  If it is set, only these kernels are
 * used, for all hashes.
 */
struct lanes *lanes_create (const char *hash);
void lanes_free (struct lanes *lanes);

/* Hash one or more of COUNT messages of LEN bytes each, from the first on, with
 * one call of a kernel.  COUNT is at least 1.  Returns the number of messages
 * that were hashed, at most COUNT.  If it returns 0, no kernel is faster, and
 * the caller must hash the first message with its own hash.  DATA[i] can have
 * any alignment.  The digest of message i is stored in MD[i].
 */
size_t lanes_hash (const struct lanes *lanes, const void *const data[],
                   size_t len, unsigned char *const md[], size_t count);

/* Returns the smallest number of messages whose time per message is close to
 * the minimum.  Larger groups are hardly faster per message.
 */
size_t lanes_full_group (const struct lanes *lanes);

/* The first plan is guessed from built-in costs.  lanes_measure replaces it by
 * a plan from measured costs; the measurement takes some hundred microseconds.
 * The caller hashes data, reports the number of bytes to lanes_add, and calls
 * lanes_measure when a measurement is due: after the first MiBs in this
 * process, and again some seconds later.  lanes_measure does nothing if no
 * measurement is due, or if another thread is measuring.  Returns EIO if any
 * kernel computes wrong results.  Otherwise returns 0, even if SINGLE fails;
 * then the plan does not change.
 */
void lanes_add (struct lanes *lanes, size_t bytes);
bool lanes_measure_is_due (const struct lanes *lanes);
int lanes_measure (struct lanes *lanes, const struct single_hash *single);

/* Returns true if a CPU with FEATURES (see cpu.h) can run KERNEL, and LIST, the
 * value of BLKHASH_CPU, is NULL or contains KERNEL or its family.
 */
bool lane_kernel_is_usable (const struct lane_kernel *kernel,
                            unsigned features, const char *list);

#endif /* BLKHASH_LANES_H */

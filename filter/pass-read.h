/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass reads what is missing in an export, with several reads in flight if
 * the plugin permits that and reads wait.
 */

#ifndef NBDKIT_BLKHASH_PASS_READ_H
#define NBDKIT_BLKHASH_PASS_READ_H

#include <stdbool.h>
#include <stdint.h>

struct pass;

/* Is nbdkit's thread model PARALLEL?  Before the first connection. */
void pass_read_set_parallel (bool parallel);

/* Read the MISSING bytes.  Returns 0, or what stopped it first: as
 * pass_why_stop, or an errno value, which is positive.  No read is in flight
 * any more.
 */
int pass_read (const struct pass *p, uint64_t missing);

#endif /* NBDKIT_BLKHASH_PASS_READ_H */

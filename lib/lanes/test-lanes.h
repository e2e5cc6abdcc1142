/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared by the unit tests of lanes.c: messages and their digests, and checks
 * in a child process.
 */

#ifndef BLKHASH_TEST_LANES_H
#define BLKHASH_TEST_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cpu.h"
#include "lanes/lanes.h"

#define MESSAGES 40
#define LEN 1000                /* length of a message in bytes */

/* cmocka's asserts do not work in a child process. */
#define check(condition)                                                \
  do                                                                    \
    if (!(condition)) {                                                 \
      fprintf (stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
      _exit (1);                                                        \
    }                                                                   \
  while (0)

/* Call RUN, which uses check, in a child process, where no earlier RUN has left
 * a plan or tested a kernel.  Returns true if all checks passed.
 */
bool in_child (void (*run) (void));

/* Message I is the LEN bytes from BYTE + I on, and EXPECTED[I] its digest. */
struct messages {
  unsigned char byte[MESSAGES + LEN];
  unsigned char expected[MESSAGES][LANE_MAX_MD];
};

void make_messages (const struct lane_hash *hash, struct messages *m);

/* Compute and check the digests of COUNT messages.  Returns the number of calls
 * of lanes_hash that used a kernel.
 */
unsigned hash_messages (const struct lane_hash *hash, struct lanes *lanes,
                        const struct messages *m, size_t count);

/* Returns true if HASH has a kernel for this CPU. */
bool has_kernels (const struct lane_hash *hash);

#endif /* BLKHASH_TEST_LANES_H */

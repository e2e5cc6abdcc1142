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
#include "lanes/lane-hashes.h"
#include "lanes/lanes.h"

#define MESSAGES 40
#define LEN 1000                /* bytes of a message */

/* cmocka's asserts do not work in a child process. */
#define check(condition)                                                \
  do                                                                    \
    if (!(condition)) {                                                 \
      fprintf (stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
      _exit (1);                                                        \
    }                                                                   \
  while (0)

/* Call RUN, which uses check, in a child process, where no plan was created and
 * no kernel tested before.  True if all checks passed.
 */
bool in_child (void (*run) (void));

/* Messages begin at any byte, and their digests are EXPECTED. */
struct messages {
  unsigned char byte[MESSAGES + LEN];
  unsigned char expected[MESSAGES][LANE_MAX_MD];
};

void make_messages (const struct lane_hash *hash, struct messages *m);

/* The digests of COUNT messages; returns how many calls had a kernel. */
unsigned hash_messages (const struct lane_hash *hash, struct lanes *lanes,
                        const struct messages *m, size_t count);

/* Is there a kernel of HASH for this CPU? */
bool has_kernels (const struct lane_hash *hash);

#endif /* BLKHASH_TEST_LANES_H */

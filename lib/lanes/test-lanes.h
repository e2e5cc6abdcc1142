/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the unit tests of lanes.c share: messages and their digests, and checks
 * in a process of its own.
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

/* In a child cmocka cannot be told. */
#define check(condition)                                                \
  do                                                                    \
    if (!(condition)) {                                                 \
      fprintf (stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
      _exit (1);                                                        \
    }                                                                   \
  while (0)

/* Does RUN, which checks, in a process of its own, where nothing was created or
 * proven before.  True if all was well.
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

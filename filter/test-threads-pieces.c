/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: test-threads.c with large blocks.
 */

#define BLOCK_SIZE 1048576
#define BLOCKS 90
#define ROUNDS 3
#define WITH_MANIFEST 1

#include "test-threads.c"

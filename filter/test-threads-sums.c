/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: test-threads.c without a manifest.
 */

#define BLOCK_SIZE 4096
#define BLOCKS 50
#define ROUNDS 100
#define WITH_MANIFEST 0

#include "test-threads.c"

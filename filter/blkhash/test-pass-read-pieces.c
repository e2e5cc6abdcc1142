/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: test-pass-read.c with the largest blocks.
 */

#define BLOCK_SIZE 16777216
#define PASS_MAX_THREADS 1

#include "blkhash/test-pass-read.c"

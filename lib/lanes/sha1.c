/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-1 as a hash of many messages at a time: the constants of FIPS 180, and
 * the list of the SIMD (multi-buffer) implementations, called kernels.
 *
 * The costs of the kernels were measured in comparison with OpenSSL on an Intel
 * CPU, family 6 model 85, which has no instructions for SHA-1.  The ratio of
 * 2.6 between the times of OpenSSL without and with these instructions is an
 * estimate: on a busy AMD CPU, family 25 model 1, it was 1.6 to 1.9.
 */

#include <config.h>

#include <stddef.h>

#include "lanes/sha1.h"

static const struct lane_kernel *const kernels[] = {
#if defined __x86_64__
  &sha1_avx512_x16, &sha1_avx512_x8, &sha1_avx2_x8,
#endif
  NULL
};

const struct lane_hash sha1_lane_hash = {
  .name = "sha1",
  .block = 64,
  .word = 4,
  .words = 5,
  .length = 8,
  .md = 20,
  .initial_state = {
    0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0,
  },
  .self_test_md = {
    {
      0xbf, 0x77, 0xec, 0xf1, 0x43, 0xce, 0xb2, 0x1f,
      0x16, 0x76, 0xc3, 0x4b, 0x8d, 0x89, 0xc8, 0xbb,
      0x3c, 0x43, 0xcc, 0x4e,
    }, {
      0x32, 0xe7, 0x01, 0x1c, 0x30, 0x32, 0x09, 0xb9,
      0xd0, 0x34, 0x49, 0x73, 0x72, 0xef, 0x3c, 0x61,
      0xb7, 0xdf, 0xcb, 0x5e,
    },
  },
  .cost_plain = 260,
  .kernels = kernels,
};

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stddef.h>

#include "lanes/blake2b.h"
#include "lanes/lane-hashes.h"
#include "lanes/sha256.h"
#include "lanes/sha512.h"

const struct lane_hash *const lane_hashes[] = {
#ifdef HAVE_LIBB2
  &blake2b_256_lane_hash,
#endif
  &blake2b_512_lane_hash, &sha256_lane_hash, &sha384_lane_hash,
  &sha512_lane_hash, NULL
};

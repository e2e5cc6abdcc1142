/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hashes that we have kernels of.
 */

#include <config.h>

#include <stddef.h>
#include <string.h>

#include "lane-hashes.h"
#include "sha1.h"
#include "sha256.h"
#include "sha512.h"

const struct lane_hash *const lane_hashes[] = {
  &sha1_lane_hash, &sha256_lane_hash, &sha384_lane_hash, &sha512_lane_hash,
  NULL
};

const struct lane_hash *
lane_hash_find (const char *name)
{
  size_t i;

  for (i = 0; lane_hashes[i]; i++)
    if (strcmp (lane_hashes[i]->name, name) == 0)
      return lane_hashes[i];
  return NULL;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hashes that have kernels.
 */

#ifndef BLKHASH_LANE_HASHES_H
#define BLKHASH_LANE_HASHES_H

#include "lanes/lane-kernel.h"

/* The last is NULL. */
extern const struct lane_hash *const lane_hashes[];

/* NAME is as digest_name returns it.  NULL: that hash has no kernels. */
const struct lane_hash *lane_hash_find (const char *name);

#endif /* BLKHASH_LANE_HASHES_H */

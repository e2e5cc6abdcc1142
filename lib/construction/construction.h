/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How leaves become the digest of the image: flat, linear or streams.
 */

#ifndef BLKHASH_CONSTRUCTION_H
#define BLKHASH_CONSTRUCTION_H

#include <stdbool.h>

struct construction {
  unsigned streams;             /* 0: flat or linear */
  bool linear;                  /* only without streams */
};

#endif /* BLKHASH_CONSTRUCTION_H */

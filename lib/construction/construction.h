/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The construction of the outer hash: flat, linear or streams.  The outer hash
 * computes the digest of the image from its leaves.
 */

#ifndef BLKHASH_CONSTRUCTION_H
#define BLKHASH_CONSTRUCTION_H

#include <stdbool.h>

struct construction {
  unsigned streams;             /* 0 if flat or linear */
  bool linear;                  /* only if STREAMS is 0 */
};

#endif /* BLKHASH_CONSTRUCTION_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plain digests of the content of an image: which ones to compute, and their
 * values.  read/content.h computes them.
 */

#ifndef BLKSUM_CONTENT_SUMS_H
#define BLKSUM_CONTENT_SUMS_H

#include <stdbool.h>
#include <string.h>

#include "blkhash.h"

#define CONTENT_MAX_SUMS 8      /* of an image; each takes a thread */

struct content_sum {
  char digest[BLKHASH_MAX_TAG_SIZE]; /* the name in --list-digests */
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned md_len;              /* bytes; set with MD */
};

struct content_sums {
  unsigned count;
  struct content_sum sums[CONTENT_MAX_SUMS]; /* no digest is there twice */
};

/* Returns the sum of DIGEST, or NULL. */
static inline const struct content_sum *
content_sums_find (const struct content_sums *sums, const char *digest)
{
  for (unsigned i = 0; i < sums->count; i++)
    if (strcmp (sums->sums[i].digest, digest) == 0)
      return &sums->sums[i];
  return NULL;
}

/* Add DIGEST, the name of a digest in --list-digests, unless SUMS has it.
 * Returns false if there is no room.
 */
static inline bool
content_sums_add (struct content_sums *sums, const char *digest)
{
  if (content_sums_find (sums, digest))
    return true;
  if (sums->count == CONTENT_MAX_SUMS)
    return false;
  strcpy (sums->sums[sums->count++].digest, digest);
  return true;
}

#endif /* BLKSUM_CONTENT_SUMS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A family of digests: the algorithms of one library.  Only digest*.c include
 * this.
 */

#ifndef BLKHASH_DIGEST_FAMILY_H
#define BLKHASH_DIGEST_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

struct digest {
  const struct digest_ops *ops;
  const char *name;             /* canonical, static storage */
  size_t size;                  /* in bytes, 0 to BLKHASH_MAX_MD_SIZE */
  bool replaceable;             /* see digest.h */
  bool accidents_only;          /* not cryptographic: see digest.h */
  void *impl;                   /* private to the family */
};

/* The state of one message is STATE_SIZE bytes, aligned to 64. */
struct digest_ops {
  size_t state_size;
  /* SETUP is called once for a state, before the first init, and TEARDOWN
   * before the state is freed.  Both may be NULL.  Functions that return int
   * return 0 or an errno value.
   */
  int (*setup) (const struct digest *digest, void *state);
  void (*teardown) (void *state);
  int (*init) (const struct digest *digest, void *state);
  int (*update) (void *state, const void *buf, size_t len);
  int (*final) (const struct digest *digest, void *state, unsigned char *md);
  /* Frees digest->impl; may be NULL. */
  void (*release) (struct digest *digest);
};

/* A family has either a table of its digests, or functions, if their number is
 * not known.
 */
struct digest_family {
  const struct digest *digests;
  size_t count;                 /* of DIGESTS */

  /* Initialize DIGEST for NAME.  Returns 0, EINVAL if the family has no such
   * digest, or another errno value.
   */
  int (*find) (const char *name, struct digest *digest);
  /* Call YIELD with each name, in any order. */
  void (*list) (void (*yield) (const char *name, void *opaque), void *opaque);
};

extern const struct digest_family digest_openssl;
extern const struct digest_family digest_blake2b;
extern const struct digest_family digest_blake3;
extern const struct digest_family digest_xxhash;

#endif /* BLKHASH_DIGEST_FAMILY_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Message digests: one interface to the algorithms of several libraries.  The
 * rest of the library uses digests through this header only.
 */

#ifndef BLKHASH_DIGEST_H
#define BLKHASH_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

struct digest;                  /* an algorithm: immutable, shared by threads */
struct digest_ctx;              /* one message and one thread at a time */

/* Find the algorithm NAME, in upper or lower case; aliases of OpenSSL are
 * accepted.  The caller frees the result with digest_free.  Returns NULL with
 * errno EINVAL if there is no such algorithm, or ENOMEM.
 */
struct digest *digest_create (const char *name);
void digest_free (struct digest *digest);

/* Return the canonical name, which is a static string, and the length of a
 * digest in bytes, which is 0 for null.
 */
const char *digest_name (const struct digest *digest);
size_t digest_size (const struct digest *digest);

/* Returns true if our kernels may compute this digest instead of its library.
 * Returns false for the digests of OpenSSL in FIPS mode, or if their provider
 * is not OpenSSL's default one, because then the user relies on the provider's
 * implementation.
 */
bool digest_is_replaceable (const struct digest *digest);

/* Returns true if it is infeasible to construct a message with a given digest,
 * such as the digest of zeros.  This is easy with xxh64 and xxh3-128, and with
 * null all messages have the same digest.
 */
bool digest_is_cryptographic (const struct digest *digest);

/* Store the names of all digests, sorted, in NAMES, but at most COUNT names.
 * Returns the number of all digests, which can be larger than COUNT.
 */
size_t digest_list (const char **names, size_t count);

/* Returns NULL with errno set on failure.  Free a context before its digest. */
struct digest_ctx *digest_ctx_create (const struct digest *digest);
void digest_ctx_free (struct digest_ctx *ctx);

/* Start a message, add to it, and store digest_size bytes in MD.  Returns 0, or
 * EIO if the underlying library failed.
 */
int digest_init (struct digest_ctx *ctx);
int digest_update (struct digest_ctx *ctx, const void *buf, size_t len);
int digest_final (struct digest_ctx *ctx, unsigned char *md);

/* The same for a message of LEN bytes. */
static inline int
digest_message (struct digest_ctx *ctx, const void *buf, size_t len,
                unsigned char *md)
{
  int err = digest_init (ctx);

  if (err == 0)
    err = digest_update (ctx, buf, len);
  if (err == 0)
    err = digest_final (ctx, md);
  return err;
}

#endif /* BLKHASH_DIGEST_H */

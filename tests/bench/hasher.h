/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The functions that digest-bench compares, which process blocks of memory.  A
 * hasher is used by one thread.  It ends the program if the library fails.
 */

#ifndef BENCH_HASHER_H
#define BENCH_HASHER_H

#include <stddef.h>

/* The bytes are DATA up to COUNT blocks of SIZE bytes each; a digest is at most
 * BLKHASH_MAX_MD_SIZE bytes.
 */
struct hasher {
  void (*run) (struct hasher *hasher,
               const unsigned char *data, size_t size, size_t count);
  /* Store the digest of a block of the last call of run, or of the message, in
   * MD, and return its length, which is 0 if there is no digest.  The next call
   * of run starts a new message.  NULL for OpenSSL, of which only the speed is
   * measured.
   */
  size_t (*checksum) (struct hasher *hasher, unsigned char *md);
  void (*free) (struct hasher *hasher);
};

/* The leaves of the library: each call is one batch. */
struct hasher *leaf_hasher (const char *digest, size_t block_size);

/* The digest layer of the library: all calls go into one message. */
struct hasher *message_hasher (const char *digest);

/* OpenSSL: a message for each block, or one message.  Returns NULL if OpenSSL
 * does not have this digest.
 */
struct hasher *openssl_hasher (const char *digest);
struct hasher *openssl_message_hasher (const char *digest);

/* Functions that are no digest: nop, memcpy or crc32c.  NULL for other names.
 */
struct hasher *yardstick_hasher (const char *name, size_t block_size);

#endif /* BENCH_HASHER_H */

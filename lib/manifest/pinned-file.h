/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file whose content must stay the same: a changed byte is never returned.
 *
 * The caller reads the file once, and passes all bytes to pinned_file_add,
 * which hashes each piece.  A piece that pinned_file_read reads later must have
 * the same digest.
 */

#ifndef BLKHASH_PINNED_FILE_H
#define BLKHASH_PINNED_FILE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "common/lru.h"

/* Bytes of a piece, which is read and hashed as a whole.  It is small, so that
 * small reads are cheap, but 128 times as large as its digest, which stays in
 * memory.
 */
#define PINNED_PIECE 4096
#define PINNED_CACHE 128        /* pieces in memory */
#define PINNED_SUM 32           /* bytes of SHA-256 */

struct digest;
struct leaf_engine;

struct pinned_file {
  int fd;
  uint64_t size;                /* bytes that were pinned */
  struct digest *digest;
  struct leaf_engine *engine;
  unsigned char (*sums)[PINNED_SUM]; /* array of the digests of the pieces */
  size_t room;                  /* number of digests that fit in SUMS */
  unsigned char *tail;          /* the last added bytes, not hashed yet;
                                 * freed by pinned_file_finish */
  size_t tail_len;
  int err;                      /* the first error of pinned_file_add */

  pthread_mutex_t lock;         /* protects the fields below; those above are
                                 * constant after pinned_file_finish */
  struct lru cache;
  struct lru_entry pieces[PINNED_CACHE];
};

/* FD must stay open.  Returns 0, ENOMEM, EIO, or EINVAL if SHA-256 is not
 * available; pinned_file_destroy must be called even after an error.
 */
int pinned_file_init (struct pinned_file *file, int fd);
void pinned_file_destroy (struct pinned_file *file);

/* Pin the next LEN bytes of the file.  Only one thread at a time may call it.
 * An error is returned by pinned_file_finish.
 */
void pinned_file_add (struct pinned_file *file, const void *bytes, size_t len);

/* Call this after all bytes of the file were added.  Returns 0, or the first
 * error of pinned_file_add or of this call.
 */
int pinned_file_finish (struct pinned_file *file);

/* Store in MD the SHA-256 of the digests of all pieces.  Files with different
 * content have different ones.  Called after pinned_file_finish.  Returns 0,
 * ENOMEM or EIO.
 */
int pinned_file_digest (const struct pinned_file *file,
                        unsigned char md[PINNED_SUM]);

/* Read to BUF the LEN bytes at OFFSET, which must have been added.  Thread-safe
 * after pinned_file_finish.  Returns 0; ESTALE if the file has changed; ENOMEM,
 * EIO, or an error of pread(2) or fstat(2).
 */
int pinned_file_read (struct pinned_file *file, void *buf, size_t len,
                      uint64_t offset);

#endif /* BLKHASH_PINNED_FILE_H */

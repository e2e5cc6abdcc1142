/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file of which every byte is the same whenever it is read.
 *
 * Its content is hashed while it is read for the first time, a digest for each
 * piece.  A piece that is read again must have the same digest.
 */

#ifndef BLKHASH_PINNED_FILE_H
#define BLKHASH_PINNED_FILE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "common/lru.h"

/* Bytes of a piece: 128 times its sum, and little enough that a small read costs
 * little.
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
  unsigned char (*sums)[PINNED_SUM]; /* of the pieces */
  size_t room;                  /* in SUMS */
  unsigned char *tail;          /* the last bytes, which have no sum yet */
  size_t tail_len;
  int err;                      /* the first of pinned_file_add */

  pthread_mutex_t lock;         /* protects the cache of pieces */
  struct lru cache;
  struct lru_entry pieces[PINNED_CACHE];
};

/* FD must stay open.  0, ENOMEM, EIO, or EINVAL if SHA-256 is not available. */
int pinned_file_init (struct pinned_file *file, int fd);
void pinned_file_destroy (struct pinned_file *file);

/* Pin the next LEN bytes of the file, by one thread. */
void pinned_file_add (struct pinned_file *file, const void *bytes, size_t len);

/* All of it was added.  0 or the error of pinned_file_add. */
int pinned_file_finish (struct pinned_file *file);

/* Store LEN bytes from OFFSET on, which must have been added.  Any number of
 * threads may call it after pinned_file_finish.  0; ESTALE: the file has
 * changed; ENOMEM, EIO, or that of pread(2).
 */
int pinned_file_read (struct pinned_file *file, void *buf, size_t len,
                      uint64_t offset);

#endif /* BLKHASH_PINNED_FILE_H */

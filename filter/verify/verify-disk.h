/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk that is verified: its manifest, and what all connections share.
 *
 * The manifest is not trusted: it is accepted only if the sum of its leaves is
 * the expected one, unless that is "none".  One small record can claim a huge
 * disk of zeros, whose sum takes weeks to compute, so the number of blocks is
 * limited, and verify_disk_load stops if nobody waits for it any more.
 *
 * The sum of a manifest is computed once.  Later disks with the same file and
 * expected sum are refused for the same reason or, if the content has the
 * digest that was verified, are accepted.  The time of the last change alone
 * does not prove that the content is the same: the storage is not trusted.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_DISK_H
#define NBDKIT_BLKHASH_VERIFY_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "../lib/common/lru.h"
#include "../lib/common/sums.h"
#include "blkhash-manifest.h"
#include "verify/tally.h"

struct digest;
struct leaf_engine;
struct manifest_index;

/* ---- The cache ----
 *
 * A small cache of verified blocks, with LRU replacement, so that several small
 * reads in one block read and hash it only once, even if they are in flight at
 * the same time.  All disks share it, so that its memory does not grow with
 * their number.  Thread-safe.
 *
 * If several threads need a block at the same time, one of them loads it, and
 * the others wait.  A block is not added to the cache if its load failed, if it
 * was not verified, or if there is no memory.  Then the waiting threads do not
 * wait again: all of them load the block in parallel, so that timeouts do not
 * add up.  A failure of the first thread does not make the requests of the
 * others fail, because the plugin can return other content on their
 * connections.
 */

#define BLOCK_CACHE_SIZE (64 * 1024 * 1024) /* bytes; 4 of the largest blocks */
#define BLOCK_CACHE_ENTRIES 512 /* a search visits all of them: see lru.h */

/* The number of condition variables.  Each block uses one of them, so that the
 * end of a load wakes few threads that wait for other blocks.
 */
#define BLOCK_CACHE_CONDS 16

/* The key of a block in the cache: its number in the disk in the lower bits,
 * and the number of the disk above them.  verify-disk.c limits the number of
 * blocks.
 */
#define BLOCK_CACHE_BLOCK_BITS 40

/* A load in progress, on the stack of its thread.  After block_cache_begin it
 * is protected by the lock of the cache.
 */
struct block_load {
  struct block_load *next;
  uint64_t number, id;          /* key of the block; ID of the load, not 0 */
};

/* A disk that uses the cache, struct cached_blocks. */
struct block_cache {
  struct block_cache *next;     /* protected by the lock of the cache */
  uint64_t id;                  /* number of the disk */
  size_t block_size;
};

/* The cache, for verify-disk.c and test-verify-disk-cache.c only. */
extern struct cached_blocks {
  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t ended[BLOCK_CACHE_CONDS]; /* a load ended; index: key of the
                                            * block % BLOCK_CACHE_CONDS */
  struct lru lru;               /* of the entries */
  struct lru_entry entries[BLOCK_CACHE_ENTRIES];
  size_t sizes[BLOCK_CACHE_ENTRIES]; /* memory of each entry, bytes */
  size_t size;                  /* memory of all entries, bytes */
  struct block_cache *disks;    /* sorted by id */
  struct block_load *loads;
  uint64_t last_id;             /* ID of the last load */
} cached_blocks;

/* block_cache_destroy does nothing if CACHE is all zero. */
void block_cache_init (struct block_cache *cache, size_t block_size);
void block_cache_destroy (struct block_cache *cache);

/* Remove all blocks of the disk. */
void block_cache_clear (const struct block_cache *cache);

/* If BLOCK is in the cache, copy LEN bytes, from its byte SKIP on, to BUF, and
 * return true.  If another thread is loading it, first wait for the end of that
 * load.  Returns false if the caller must load the block; then it must call
 * block_cache_end with LOAD, even if the load fails.
 */
bool block_cache_begin (const struct block_cache *cache, uint64_t block,
                        void *buf, size_t len, size_t skip,
                        struct block_load *load);

/* End LOAD.  BYTES is the verified content of the block, LEN bytes: add it to
 * the cache if there is memory.  If BYTES is NULL, add nothing.
 */
void block_cache_end (const struct block_cache *cache, struct block_load *load,
                      const void *bytes, size_t len);

/* ---- The disk ---- */

struct verify_disk {
  const char *path;             /* of the manifest */
  int fd;                       /* of the manifest; -1: it is closed */
  struct stat st;               /* of the manifest, before it was read */
  bool settled;                 /* ST has an old time of the last change: it is
                                 * not that of a later change */
  const char *sum_text;         /* the expected sum, or "none" */
  struct expected_sum sum;      /* the same; without OPTS if it is "none" */
  struct manifest_index *index;
  uint64_t size, blocks;        /* size of the disk in bytes, and in blocks */
  uint32_t block_size;
  size_t leaf_size;
  struct digest *digest;
  struct leaf_engine *engine;
  struct block_cache cache;
  struct tally tally;
  bool stopped;                 /* all requests fail; atomic */
  uint64_t zeros;               /* bytes in blocks that are zero in the
                                 * manifest; 0 without DISK_COUNT */
  bool changed;                 /* the manifest has changed, and this was
                                 * logged; atomic */
};

/* Flags of verify_disk_load. */
#define DISK_COMPUTE 1          /* compute the sum of the leaves, and check that
                                 * the manifest records it, even if SUM is
                                 * "none" */
#define DISK_COUNT 2            /* set ZEROS */
#define DISK_FOR_CLIENT 4       /* the thread is that of a connection: stop if
                                 * its client or nbdkit is ending */

/* Read the header of the manifest in FD, which is closed with the disk, or on
 * error.  SUM is the expected sum, or "none".  PATH is the path of the file.
 * Both must live as long as the disk.  Returns NULL after nbdkit_error.
 */
struct verify_disk *verify_disk_open (int fd, const char *path,
                                      const char *sum);

/* Read the rest of the manifest, and check that its sum is the expected one.
 * The time that this takes depends on the number of blocks: the caller has
 * checked the size of the disk, if it can.  How it ended is remembered for the
 * next disk that is opened with the same file and expected sum, until
 * verify_disk_forget_manifests.  Called once, before any other function except
 * verify_disk_free.  Returns 0, or -1 after nbdkit_error.  Thread-safe for
 * different disks.
 */
int verify_disk_load (struct verify_disk *disk, unsigned flags);
void verify_disk_forget_manifests (void);

/* Close the manifest, and free the members that only requests need.  The
 * members that outputs need remain: PATH, the sizes, TALLY, ZEROS, STOPPED and
 * CHANGED.
 */
void verify_disk_close (struct verify_disk *disk);
void verify_disk_free (struct verify_disk *disk);

/* verify_disk_stop sets the flag that makes all later requests fail. */
void verify_disk_stop (struct verify_disk *disk);
bool verify_disk_is_stopped (const struct verify_disk *disk);

/* Returns true if a request found that the manifest has changed. */
bool verify_disk_has_changed (const struct verify_disk *disk);

/* The same as manifest_index_get, for a request.  Returns 0, or -1 with *ERR
 * set, after nbdkit_error; but a changed manifest is logged only once.
 */
int verify_disk_get_run (struct verify_disk *disk, uint64_t first, uint64_t max,
                         unsigned char *leaves,
                         struct blkhash_manifest_run *run, int *err);

/* Returns the number of bytes of COUNT blocks from block FIRST on. */
uint64_t verify_disk_bytes (const struct verify_disk *disk, uint64_t first,
                            uint64_t count);

#endif /* NBDKIT_BLKHASH_VERIFY_DISK_H */

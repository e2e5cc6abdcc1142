/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: the functions of nbdkit that the filter calls, a plugin whose
 * disk is memory, and clients.  Any thread can run a client.
 */

#ifndef NBDKIT_BLKHASH_TEST_NBDKIT_H
#define NBDKIT_BLKHASH_TEST_NBDKIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct client;

/* Start a server with a disk of SIZE bytes, the result file PATH, the manifest
 * MANIFEST (NULL: none), and blkhash-block-size=BLOCK_SIZE.  The plugin aborts
 * if a request modifies the disk while MANIFEST exists and is not empty.
 *
 * server_stop ends the server.  A test can call server_end before server_stop:
 * server_end calls only the filter's .cleanup, as nbdkit does first when it
 * quits.  Each of the two can be called only once.
 */
void server_start (uint64_t size, const char *path, const char *manifest,
                   const char *block_size);
void server_end (void);
void server_stop (void);

/* Called by server_start when the disk exists, before the filter starts. */
extern void (*server_on_start) (void);

/* Set a further parameter of the filter, before server_start. */
void server_configure (const char *key, const char *value);

/* Returns how often the filter has called nbdkit_error. */
unsigned errors_reported (void);

/* The last message of nbdkit_error in this thread. */
extern _Thread_local char last_error[512];

extern unsigned char *disk;     /* the content of the disk */

/* Make the disk smaller, while there are no connections. */
void disk_resize (uint64_t size);

/* If this is N > 0, every Nth of all reads and writes fails. */
extern unsigned disk_failures;

/* Called in each read, by the thread that reads, which may wait in it.  Returns
 * 0, or the errno value with which the read fails.
 */
extern int (*disk_on_read) (void);

/* Called in each write, after the plugin stored the data and before the write
 * ends.
 */
extern void (*disk_on_written) (void);

/* Returns true if extents report the 512 bytes at OFFSET, or the part of them
 * that is requested, as zero, whatever their content.  NULL: extents are right.
 */
extern bool (*disk_lies) (uint64_t offset);

/* The number of flushes that failed. */
extern atomic_uint disk_flushes_failed;

/* How connections see the disk.  By default they share one view, and have
 * multi-conn.  Only FLUSH can be changed while there are connections.
 */
struct disk_mode {
  enum disk_views {
    VIEWS_SHARED,
    VIEWS_OWN,                  /* each connection has a copy of the disk, which
                                 * is made at open and can be refreshed later */
    VIEWS_BACK                  /* as VIEWS_OWN, but the copy is a write-back
                                 * cache */
  } views;
  enum disk_flush {
    FLUSH_WORKS,
    FLUSH_NONE,                 /* the plugin cannot flush */
    FLUSH_FAILS                 /* at random; the connection's changes since its
                                 * last flush may then be lost */
  } flush;
  bool multi_conn;
};
extern struct disk_mode disk_mode;

/* The seed of this thread.  If it is not 0, the plugin does at random what a
 * plugin is allowed to do, such as write back, refuse a fast zero, or yield.
 */
extern _Thread_local unsigned disk_seed;

/* A client of the export NAME, without TLS or with it. */
struct client *client_open (const char *name);
struct client *client_open_tls (const char *name);

/* Close CLIENT; client_vanish omits .finalize, as nbdkit does if .finalize of a
 * filter above fails.  (nbdkit calls .finalize even after a lost connection.)
 */
void client_disconnect (struct client *client);
void client_vanish (struct client *client);

/* Requests.  They return 0, or -1 if the plugin failed.  FLAGS are
 * NBDKIT_FLAG_*.
 */
int client_read (struct client *client, uint32_t len, uint64_t offset);
int client_write (struct client *client, int byte, uint32_t len,
                  uint64_t offset, uint32_t flags);
int client_zero (struct client *client, uint32_t len, uint64_t offset,
                 uint32_t flags);
int client_trim (struct client *client, uint32_t len, uint64_t offset,
                 uint32_t flags);
int client_cache (struct client *client, uint32_t len, uint64_t offset);
int client_extents (struct client *client, uint32_t len, uint64_t offset);
int client_flush (struct client *client);

#endif /* NBDKIT_BLKHASH_TEST_NBDKIT_H */

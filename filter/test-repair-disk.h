/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests of repair by the verify filter: the plugin's disk, which can
 * be damaged and which checks each write; the repair sources; and a server with
 * a client.
 */

#ifndef NBDKIT_BLKHASH_TEST_REPAIR_DISK_H
#define NBDKIT_BLKHASH_TEST_REPAIR_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "test-verify-nbdkit.h"
#include "verify/tally.h"

#define BLOCK 4096              /* bytes */
#define MAX_BLOCKS 40
#define SOURCES 3

/* A random number less than N; any uses SEED. */
extern unsigned seed;
uint64_t any_of (unsigned *s, uint64_t n);
uint64_t any (uint64_t n);

/* ---- The plugin ---- */

extern struct plugin plugin;    /* has the bytes of the damaged disk */
extern unsigned char truth[MAX_BLOCKS * BLOCK]; /* the right content */
extern uint64_t size, blocks;   /* bytes and blocks that the manifest covers */

extern pthread_mutex_t lock;    /* protects: */
extern bool unreadable[MAX_BLOCKS];
/* writes: how often each block was written.  unflushed: the number of pwrite
 * calls without FUA, for all blocks, since the last flush.
 */
extern unsigned writes[MAX_BLOCKS], unflushed;
extern unsigned good_after;     /* the disk becomes good at the read with this
                                 * number, counted from now; 0: never */
extern unsigned empty_after;    /* beginning with the read with this number,
                                 * counted from now, reads succeed but store
                                 * nothing; 0: never */
extern int read_error;          /* errno with which unreadable blocks fail */
extern unsigned reads;          /* number of reads */

/* Set before clients are connected.  With WRITE_IS_LOST, writes succeed but
 * store nothing.
 */
enum write_kind { WRITE, WRITE_FAILS, WRITE_IS_LOST, FLUSH_FAILS };
extern enum write_kind write_kind;
extern int can_write, can_flush, can_fua; /* as the plugin returns them */

uint64_t size_of (uint64_t block);
bool is_good_locked (uint64_t block);

/* ---- The disks ---- */

extern char source_paths[SOURCES][50];
extern bool in_source[SOURCES][MAX_BLOCKS]; /* the source has the right block */

void write_file (const char *path, const void *bytes, size_t len);

/* Write the manifest of TRUTH. */
void write_manifest (void);

/* Make a good disk of BYTES bytes, and its manifest, and reset the state of the
 * plugin.  About one of six blocks is zero.
 */
void make_truth (uint64_t bytes);

/* Make a disk of three blocks of data, of which block 1 is bad, and a source in
 * which all three are good.
 */
void make_bad_disk (void);

/* ---- The server ---- */

/* Values of blkhash-verify-zero and blkhash-verify-repair-write. */
extern bool read_zeros, is_writing;
extern const char *limit;       /* blkhash-verify-repair-limit */
extern unsigned nr_sources;     /* how many of SOURCES are used */

void start_server (void);
void stop_server (void);

/* Returns NULL if the filter refuses the connection. */
void *connect_client (void);

/* start_client starts the server and connects its only client.  end_client
 * disconnects the client and stops the server.
 */
void *start_client (void);
void end_client (void *handle);

int read_range (void *handle, void *buf, uint64_t len, uint64_t offset);

/* Returns true if the filter must serve BLOCK. */
bool is_served (uint64_t block);

/* Read LEN bytes at OFFSET.  Returns what is wrong with the result, or NULL. */
const char *check_read_at (void *handle, uint64_t len, uint64_t offset);

struct tally *the_tally (void);
enum block_state state_of (uint64_t block);

/* ---- The files ---- */

/* Set up and tear down a group of tests: create and remove the directory of the
 * manifest and of the sources.
 */
int set_up (void **state);
int tear_down (void **state);

#endif /* NBDKIT_BLKHASH_TEST_REPAIR_DISK_H */

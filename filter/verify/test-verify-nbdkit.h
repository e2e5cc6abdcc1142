/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests of the verify filter: the functions of nbdkit that it calls, a
 * server with the filter, a plugin whose disk is memory with faults, and the
 * manifest of the disk.
 */

#ifndef NBDKIT_BLKHASH_TEST_VERIFY_NBDKIT_H
#define NBDKIT_BLKHASH_TEST_VERIFY_NBDKIT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <nbdkit-filter.h>

#include "blkhash.h"

/* The number of calls of nbdkit_error, and the texts of the last two. */
extern atomic_uint errors;
extern char last_error[512], previous_error[512];

/* Set while nbdkit is ending or the client is gone: nbdkit_nanosleep fails. */
extern atomic_bool is_ending;

/* Unless NULL, nbdkit_nanosleep calls this and returns what it returns. */
extern int (*on_sleep) (void);

/* The last export name that nbdkit_add_export received. */
extern char listed[100];

/* The extents that nbdkit_add_extent received. */
struct nbdkit_extents {
  size_t count, max;            /* more than MAX are refused */
  struct nbdkit_extent *extent;
};

/* ---- The plugin ---- */

enum fault_kind {
  FAULT_FLIP,                   /* one bit, at START */
  FAULT_ZERO,
  FAULT_OTHER,                  /* the bytes at OTHER */
  FAULT_FAIL,                   /* with the error ERR */
};

/* A range of bytes that reads find changed, or that cannot be read. */
struct fault {
  enum fault_kind kind;
  uint64_t start, end, other;
  int err;
  int times;                    /* number of reads that the fault affects; -1:
                                 * all */
  atomic_int left;              /* how many of TIMES are left */
};

#define MAX_FAULTS 40

/* NEXT is the first member, so its address is that of the plugin. */
struct plugin {
  nbdkit_next next;
  unsigned char *bytes;         /* without faults */
  uint64_t size;
  uint32_t min, preferred, max; /* block size constraints, bytes; 0: none */
  int multi_conn, can_extents;  /* with extents, a test sets NEXT.extents */
  struct fault faults[MAX_FAULTS];
  size_t nr_faults;
  atomic_uint misused;          /* requests that the constraints forbid */
  atomic_uint reads;
};

/* Set the functions, and allocate SIZE zero bytes. */
void plugin_init (struct plugin *plugin, uint64_t size);
void plugin_destroy (struct plugin *plugin);

/* Change the LEN bytes at BUF, which were read at OFFSET, as FAULT says.  The
 * kind of FAULT is not FAULT_FAIL.
 */
void fault_apply (const struct plugin *plugin, const struct fault *fault,
                  unsigned char *buf, size_t len, uint64_t offset);

/* ---- The server ---- */

extern struct nbdkit_filter *filter; /* set by start */

extern char passed_on[];        /* the parameters that the plugin got since
                                 * start was called, as "KEY=VALUE;" */

int config (const char *key, const char *value);

/* Load the filter, pass it the parameters, which are pairs of key and value
 * that end with NULL, and call .get_ready.  The test can then call .after_fork.
 * Returns 0, or -1 after nbdkit_error.
 */
int start (const char *key, ...);

/* Unload the filter, and free what nbdkit_strdup_intern returned. */
void unload (void);

/* Returns the handle of a client that asks for the export NAME, or NULL if
 * .open fails.
 */
void *open_export (const char *name);

/* ---- The tests ---- */

/* Returns the seed for random tests, and prints it: BLKHASH_SEED, or the time.
 */
unsigned get_seed (void);

/* Write the manifest of the SIZE bytes at BYTES to the file PATH.  Returns the
 * sum as blksum --tag prints it; the caller frees this string.
 */
char *manifest_of (const struct blkhash_opts *opts, const void *bytes,
                   uint64_t size, const char *path);

#endif /* NBDKIT_BLKHASH_TEST_VERIFY_NBDKIT_H */

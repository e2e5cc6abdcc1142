/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: what the filter calls of nbdkit, a plugin whose disk is
 * memory, and clients.  Any thread can be a client.
 */

#ifndef NBDKIT_BLKHASH_TEST_NBDKIT_H
#define NBDKIT_BLKHASH_TEST_NBDKIT_H

#include <stdbool.h>
#include <stdint.h>

struct client;

/* Start with a disk of SIZE bytes, the result file PATH, the manifest MANIFEST
 * and blocks of BLOCK_SIZE, as nbdkit takes it.  stop can be called only once.
 * Whenever the plugin is told to change something the manifest must be empty,
 * or gone.
 */
void server_start (uint64_t size, const char *path, const char *manifest,
                   const char *block_size);
void server_stop (void);

/* How many errors the filter told. */
unsigned errors_told (void);

extern unsigned char *disk;     /* its content; see also disk_failures */

/* One in so many requests fails; 0: none. */
extern unsigned disk_failures;

/* A client of the export NAME. */
struct client *client_open (const char *name);

/* It leaves as it should, or is gone without a word. */
void client_leave (struct client *client);
void client_vanish (struct client *client);

/* 0, or -1 if the plugin failed. */
int client_read (struct client *client, uint32_t len, uint64_t offset);
int client_write (struct client *client, int byte, uint32_t len,
                  uint64_t offset);
int client_zero (struct client *client, uint32_t len, uint64_t offset);
int client_trim (struct client *client, uint32_t len, uint64_t offset);
int client_extents (struct client *client, uint32_t len, uint64_t offset);
int client_flush (struct client *client);

#endif /* NBDKIT_BLKHASH_TEST_NBDKIT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: a plugin whose disk is memory, for test-nbdkit.c.  Tests use
 * test-nbdkit.h.
 */

#ifndef NBDKIT_BLKHASH_TEST_PLUGIN_H
#define NBDKIT_BLKHASH_TEST_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include <nbdkit-filter.h>

#define MAX_EXTENTS 64

struct nbdkit_extents {
  size_t count;
  struct nbdkit_extent extent[MAX_EXTENTS];
};

/* Create a disk of SIZE bytes.  Each request that modifies the disk asserts
 * that the file MANIFEST, unless it is NULL, is empty or does not exist.
 */
void plugin_start (uint64_t size, const char *manifest);
void plugin_stop (void);

/* plugin_connect opens a connection, with its view of the disk.
 * plugin_disconnect writes the changes that only the view has to the disk, and
 * then closes the connection.
 */
nbdkit_next *plugin_connect (void);
void plugin_disconnect (nbdkit_next *next);

#endif /* NBDKIT_BLKHASH_TEST_PLUGIN_H */

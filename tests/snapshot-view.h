/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a connection of snapshot-plugin.c sees of the disk, and when the disk gets
 * what the connection changes.
 *
 * A view is used by one thread at a time if it is not shared.
 */

#ifndef BLKHASH_TESTS_SNAPSHOT_VIEW_H
#define BLKHASH_TESTS_SNAPSHOT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view;

enum view_kind {
  VIEW_SHARED,                  /* the disk itself */
  VIEW_OWN,                     /* as the disk was, and its own changes */
  VIEW_BACK,                    /* and the disk gets those later */
};

/* A view of the SIZE bytes of the file DISK.  NULL: an error that nbdkit was told
 * of.
 */
struct view *view_open (enum view_kind kind, int disk, size_t size);
void view_close (struct view *view);

/* 0, or -1 with an error that nbdkit was told of. */
int view_read (struct view *view, void *buf, size_t len, uint64_t offset);
int view_write (struct view *view, const void *buf, size_t len,
                uint64_t offset);

/* Let the disk have all changes of the view; let them be lost; see the disk as it
 * is now.
 */
int view_write_back (struct view *view);
void view_lose (struct view *view);
int view_refresh (struct view *view);

#endif /* BLKHASH_TESTS_SNAPSHOT_VIEW_H */

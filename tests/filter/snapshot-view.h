/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The view that a connection of snapshot-plugin.c has of the disk, and when its
 * changes are written to the disk.
 *
 * A view that is not shared is used by one thread at a time.
 */

#ifndef BLKHASH_TESTS_SNAPSHOT_VIEW_H
#define BLKHASH_TESTS_SNAPSHOT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view;

enum view_kind {
  VIEW_SHARED,                  /* the disk itself */
  VIEW_OWN,                     /* the disk as it was, with its own changes */
  VIEW_BACK,                    /* the same; changes are written back later */
};

/* A view of the SIZE bytes of the file DISK.  Returns NULL on errors, which are
 * reported to nbdkit.
 */
struct view *view_open (enum view_kind kind, int disk, size_t size);
void view_close (struct view *view);

/* Return 0, or -1 on errors, which are reported to nbdkit. */
int view_read (struct view *view, void *buf, size_t len, uint64_t offset);
int view_write (struct view *view, const void *buf, size_t len,
                uint64_t offset);

/* Write all changes of the view to the disk; discard them; update the view to
 * the current content of the disk.
 */
int view_write_back (struct view *view);
void view_lose (struct view *view);
int view_refresh (struct view *view);

#endif /* BLKHASH_TESTS_SNAPSHOT_VIEW_H */

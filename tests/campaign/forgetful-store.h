/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A directory of files, and what of it survives a power cut.
 */

#ifndef FORGETFUL_STORE_H
#define FORGETFUL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct change;

struct content {
  char *bytes;
  size_t size, capacity;
};

struct inode {
  struct inode *next;
  struct stat st;               /* without the size */
  struct content now, durable;
  struct change *pending, **pending_tail; /* not synced, in their order */
};

/* What a cut keeps of the changes that were not synced. */
enum keep {
  KEEP_NONE,
  KEEP_ALL,
  KEEP_ORDERED,                 /* the first ones, a random number; the last of
                                 * them can be torn */
  KEEP_LAST,                    /* the last one of each file and of the names */
  KEEP_SUBSET,                  /* random ones, which can be torn */
  KEEP_TORN,                    /* all, but the last write is torn */
  KEEP_ZEROS,                   /* all names and sizes, and no data: what is
                                 * new in a file is zeros */
  KEEP_INVALID
};

enum keep store_keep_from_name (const char *name);

/* Load the regular files in DIRECTORY.  All is durable then.  Exits on
 * failure, as all functions here.
 */
void store_load (const char *directory);

/* Make DIRECTORY what is durable after a cut that keeps KEEP, by random numbers
 * of SEED.
 */
void store_save (const char *directory, enum keep keep, uint64_t seed);

/* Returns NULL if there is no file NAME. */
struct inode *store_find (const char *name);
struct inode *store_find_number (ino_t ino);
/* Returns the name number N, or NULL if there are not so many. */
const char *store_name_at (size_t n);
/* Its name, or "-" if it has none. */
const char *store_name (const struct inode *inode);

/* Changes, which are not durable before a sync. */
struct inode *store_create (const char *name, mode_t mode);
void store_link (const char *name, struct inode *inode);
void store_rename (const char *old, const char *new_name);
void store_exchange (const char *a, const char *b);
void store_unlink (const char *name);
void store_resize (struct inode *inode, uint64_t size);
/* DATA can be NULL, for zeros. */
void store_write (struct inode *inode, uint64_t offset, const char *data,
                  size_t len);

void store_sync (struct inode *inode);
void store_sync_names (void);

/* A sync failed, so the data that was not synced never becomes durable. */
void store_lose (struct inode *inode);

#endif /* FORGETFUL_STORE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A regular file or block device in which blocks are replaced.
 *
 * It is never created, truncated or extended.
 */

#ifndef BLKSUM_WRITE_FILE_H
#define BLKSUM_WRITE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct file;

struct write_file {
  int fd;                       /* for writing */
  struct file *reader;          /* the same file, for reading past the page
                                 * cache */
};

/* Check, without opening PATH for writing, whether write_file_open would
 * succeed now.  FD is open at this path, and has our only locks; ST is its
 * state.  0, or -1 with the reason.
 */
int write_file_check (const char *path, int fd, const struct stat *st,
                      struct error *error);

/* Open PATH, for writing unless READ_ONLY, and lock it as a writer in qemu.  A
 * block device is opened exclusively.  It must be the file whose state was ST,
 * unmodified.  0, or -1 with the reason; then FILE need not be closed.
 */
int write_file_open (struct write_file *file, const char *path,
                     const struct stat *st, bool read_only,
                     struct error *error);
void write_file_close (struct write_file *file);

/* Read, or write, LEN bytes at OFFSET.  What is read comes from the storage, as
 * far as the kernel allows that.  0, or -1 with the reason.
 */
int write_file_read (const struct write_file *file, void *buf, size_t len,
                     uint64_t offset, struct error *error);
int write_file_write (const struct write_file *file, const void *buf,
                      size_t len, uint64_t offset, struct error *error);

/* Wait until what was written is on the storage.  0, or -1 with the reason. */
int write_file_sync (const struct write_file *file, struct error *error);

#endif /* BLKSUM_WRITE_FILE_H */

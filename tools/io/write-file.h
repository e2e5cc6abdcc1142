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
  int fd;                       /* has the locks */
  const char *path;
  struct stat st;               /* when it was opened */
  struct file *reader;          /* the same file; or NULL */
};

/* Open PATH, for writing unless READ_ONLY, and lock it as a writer in qemu.  A
 * block device is opened exclusively.  What was written before is written to
 * the storage, unless READ_ONLY.  0, or -1 with the reason; then FILE need not
 * be closed.
 */
int write_file_open (struct write_file *file, const char *path, bool read_only,
                     struct error *error);
void write_file_close (struct write_file *file);

/* Set what FILE is read by: READER, created from file->fd, for direct I/O if that
 * is possible.  It must exist until the end.
 */
void write_file_set_reader (struct write_file *file, struct file *reader);

/* Check that nothing was written to a regular file since it was opened.
 * Writes to a device cannot be detected.  0, or -1 with the reason.
 */
int write_file_check_unmodified (const struct write_file *file,
                                 struct error *error);

/* Check that the path is still that of FILE.  0, or -1 with the reason. */
int write_file_check_path (const struct write_file *file, struct error *error);

/* Read LEN bytes at OFFSET from the storage, as far as the file system allows
 * that.  0; -1 with the reason; or 1 if the storage cannot read them.
 */
int write_file_read (const struct write_file *file, void *buf, size_t len,
                     uint64_t offset, struct error *error);

/* Write LEN bytes at OFFSET.  0, or -1 with the reason. */
int write_file_write (const struct write_file *file, const void *buf,
                      size_t len, uint64_t offset, struct error *error);

/* Wait until what was written is on the storage.  0, or -1 with the reason. */
int write_file_sync (const struct write_file *file, struct error *error);

#endif /* BLKSUM_WRITE_FILE_H */

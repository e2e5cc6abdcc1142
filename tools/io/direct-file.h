/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A regular file or block device in which blocks are replaced, by direct I/O.
 *
 * It is never created, truncated or extended.
 */

#ifndef BLKSUM_DIRECT_FILE_H
#define BLKSUM_DIRECT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;

struct direct_file {
  int fd;                       /* has the locks, and O_DIRECT */
  const char *path;
  struct stat st;               /* when it was opened */
  uint64_t size;                /* then, bytes */
  uint32_t align;               /* of what is written, bytes */
};

/* Open PATH, for writing unless READ_ONLY, and lock it as a writer in qemu.  A
 * block device is opened exclusively.  Check that its direct I/O is direct.  What
 * was written before is written to the storage, unless READ_ONLY.  0, or -1 with
 * the reason; then FILE need not be closed.
 */
int direct_file_open (struct direct_file *file, const char *path,
                      bool read_only, struct error *error);
void direct_file_close (struct direct_file *file);

/* Check that nothing was written to a regular file since it was opened, and that no
 * other process has the file or device open for writing.  Writes to a device cannot
 * be detected.  0, or -1 with the reason.
 */
int direct_file_check_unmodified (const struct direct_file *file,
                                  struct error *error);

/* Check that the size and the path are still those of FILE.  0, or -1 with the
 * reason.
 */
int direct_file_check_size (const struct direct_file *file,
                            struct error *error);
int direct_file_check_path (const struct direct_file *file,
                            struct error *error);

/* In the next two, BUF is aligned to READ_ALIGN bytes, and LEN and OFFSET to
 * those of FILE.  0, or -1 with the reason.
 */
int direct_file_read (const struct direct_file *file, void *buf, size_t len,
                      uint64_t offset, struct error *error);
int direct_file_write (const struct direct_file *file, const void *buf,
                       size_t len, uint64_t offset, struct error *error);

/* Wait until what was written is on the storage.  0, or -1 with the reason. */
int direct_file_sync (const struct direct_file *file, struct error *error);

/* Check that the page cache has no page of these bytes.  0, or -1 with the
 * reason.
 */
int direct_file_check_uncached (const struct direct_file *file, size_t len,
                                uint64_t offset, struct error *error);

#endif /* BLKSUM_DIRECT_FILE_H */

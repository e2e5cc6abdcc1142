/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file or block device in which blocks are replaced.
 *
 * A target is opened only once.  First it is scanned, to find the bad blocks;
 * holes of a file need not be read.  Then, for each bad block, the same file
 * descriptor is used for the read before the write, for the write, and for
 * reading back.  So these cannot access different disks.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "repair/disk-layers.h"
#include "util/source-options.h"

struct error;
struct source;

struct direct_file {
  int fd;                       /* uses O_DIRECT, and holds the locks */
  const char *path;
  struct stat st;               /* status at the time of the open */
  uint64_t size;                /* at the time of the open, bytes */
  uint32_t align;               /* of offsets and lengths, bytes */
};

struct target {
  const char *operand;
  struct source_options options; /* for the scan */
  uint64_t size;                /* of the image, bytes */
  struct source *source;        /* for the scan */
  struct direct_file file;      /* for all other requests */
  struct disk_id id;
};

/* Open TARGET, which has an image of SIZE bytes, for reading if READ_ONLY,
 * otherwise for reading and writing.  Check its size, and that it is raw and
 * not in use.  The caller must set the operand and options of TARGET, and zero
 * the other fields.  Returns 0, or -1 with the reason in ERROR; in the latter
 * case TARGET must not be closed.
 */
int target_open (struct target *target, uint64_t size, bool read_only,
                 struct error *error);
void target_close (struct target *target);

/* Returns true if OPERAND is the same file or device under any name (see
 * disk_id_is_same).  The operand is not locked.
 */
bool target_is_operand (const struct target *target, const char *operand);

/* Returns true if the target is one of the files of SOURCE, such as a backing
 * file.
 */
bool target_is_in (const struct target *target, const struct source *source);

/* Open PATH for reading if READ_ONLY, otherwise for reading and writing.  Take
 * the image locks that a writer in qemu takes, and open a block device
 * exclusively.  Check that PATH is not in use (see writers_check), and that
 * direct I/O bypasses the page cache.  Unless READ_ONLY, check that a block
 * device is writable, and flush earlier writes to the storage.  Returns 0, or
 * -1 with the reason in ERROR; after -1 FILE must not be closed.
 */
int direct_file_open (struct direct_file *file, const char *path,
                      bool read_only, struct error *error);
void direct_file_close (struct direct_file *file);

/* Check that the file or block device is not in use (see writers_check), and
 * that the size and mtime of a regular file are the same as when it was
 * opened.  Writes to a block device by a process that has closed it again
 * cannot be detected.  Returns 0, or -1 with the reason in ERROR.
 */
int direct_file_check_unmodified (const struct direct_file *file,
                                  struct error *error);

/* Check that the size of the open file is still FILE->size, and that
 * FILE->path still names the open file or device.  Returns 0, or -1 with the
 * reason in ERROR.
 */
int direct_file_check_same (const struct direct_file *file,
                            struct error *error);

/* Read or write LEN bytes at OFFSET.  BUF must be aligned to READ_ALIGN bytes,
 * and LEN and OFFSET must be multiples of FILE->align.  Return 0, or -1 with
 * the reason in ERROR.
 */
int direct_file_read (const struct direct_file *file, void *buf, size_t len,
                      uint64_t offset, struct error *error);
int direct_file_write (const struct direct_file *file, const void *buf,
                       size_t len, uint64_t offset, struct error *error);

/* Flush written data to the storage.  Returns 0, or -1 with the reason in
 * ERROR.
 */
int direct_file_sync (const struct direct_file *file, struct error *error);

/* Check that the page cache does not have any page of the LEN bytes at OFFSET.
 * Returns 0, or -1 with the reason in ERROR.
 */
int direct_file_check_uncached (const struct direct_file *file, size_t len,
                                uint64_t offset, struct error *error);

#endif /* BLKSUM_TARGET_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file or block device in which blocks are replaced.  It is
 * never created, truncated or extended.
 *
 * A target is opened only once, and one file descriptor is used until the
 * repair ends: for the scan that finds the bad blocks (holes of a file need not
 * be read), and for each bad block, for the read before the write, for the
 * write, and for reading back.  So these cannot access different disks.  The
 * descriptor holds the locks, and while a block device is open, the kernel
 * cannot assign its device number to another device.
 *
 * No data goes through the page cache.  A buffered write of part of a page
 * would also write the rest of the cached page, possibly over good neighboring
 * blocks.  A buffered read could return data that is not on the storage: a
 * write can be lost, and after a failed sync Linux keeps the pages in the
 * cache as if they had been written.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "repair/writers.h"
#include "util/source-options.h"

struct error;
struct source;

struct target {
  const char *path;
  struct source_options options; /* for the scan */
  struct source *source;        /* for the scan; has the size of the image */
  int fd;                       /* uses O_DIRECT, and holds the locks */
  struct stat st;               /* status at the time of the open */
  uint64_t size;                /* of the whole disk at that time, bytes */
  uint32_t align;               /* of offsets and lengths, bytes */
  struct disk_layers layers;
};

/* Open TARGET, which has an image of SIZE bytes, for reading if READ_ONLY,
 * otherwise for reading and writing.  Take the image locks that a writer in
 * qemu takes, and open a block device exclusively.  Check that it is not in use
 * (see writers_check), that it is raw and has the right size, and that direct
 * I/O bypasses the page cache.  Unless READ_ONLY, check that a block device is
 * writable, and flush earlier writes to the storage.  The caller must set the
 * path and options of TARGET.  Returns 0, or -1 with the reason in ERROR; in
 * the latter case TARGET must not be closed.
 */
int target_open (struct target *target, uint64_t size, bool read_only,
                 struct error *error);
void target_close (struct target *target);

/* Check that the file or block device is not in use (see writers_check), and
 * that the size and mtime of a regular file are the same as when it was
 * opened.  Writes to a block device by a process that has closed it again
 * cannot be detected.  Returns 0, or -1 with the reason in ERROR.
 */
int target_check_unmodified (const struct target *target, struct error *error);

/* Check that the size of the open file has not changed, and that its path
 * still names the open file or device.  Returns 0, or -1 with the reason in
 * ERROR.
 */
int target_check_same (const struct target *target, struct error *error);

/* Read or write LEN bytes at OFFSET.  BUF must be aligned to READ_ALIGN bytes,
 * and LEN and OFFSET must be multiples of TARGET->align.  Return 0, or -1 with
 * the reason in ERROR.
 */
int target_read (const struct target *target, void *buf, size_t len,
                 uint64_t offset, struct error *error);
int target_write (const struct target *target, const void *buf, size_t len,
                  uint64_t offset, struct error *error);

/* Flush written data to the storage.  Returns 0, or -1 with the reason in
 * ERROR.
 */
int target_sync (const struct target *target, struct error *error);

/* Check that the page cache does not have any page of the LEN bytes at OFFSET.
 * Returns 0, or -1 with the reason in ERROR.
 */
int target_check_uncached (const struct target *target, size_t len,
                           uint64_t offset, struct error *error);

/* Returns true if OPERAND is the same file or device under any name (see
 * disk_layers_are_same).  The operand is not locked.
 */
bool target_is_operand (const struct target *target, const char *operand);

/* Returns true if the target is one of the files of SOURCE, such as a backing
 * file.
 */
bool target_is_in (const struct target *target, const struct source *source);

#endif /* BLKSUM_TARGET_H */

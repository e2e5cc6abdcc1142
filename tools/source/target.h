/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file, block device or NBD export in which blocks are
 * replaced.
 *
 * A target is opened only once.  First it is scanned, to find the bad blocks;
 * holes of a file need not be read.  Then, for each bad block, the same file
 * descriptor or NBD connection is used for the read before the write, for the
 * write, and for reading back.  So these cannot access different disks.  Only
 * the scan can use more connections, if the server announces that all of them
 * show the same content (multi-conn).  Even if they do not, nothing is written
 * to a good block, because each block is read again before it is written.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/direct-file.h"
#include "io/disk-id.h"
#include "util/source-options.h"

struct error;
struct source;

struct target {
  const struct target_ops *ops;
  const char *operand;
  struct source_options options; /* for the scan */
  uint64_t size;                /* of the image, bytes */
  uint32_t align;               /* alignment of offsets and lengths, bytes */
  bool read_only;
  struct source *source;        /* for the scan; that of an NBD export has the
                                 * connection for all other requests, too */

  /* If the target is not an NBD export. */
  struct direct_file file;
  struct disk_id id;
};

/* Open TARGET, which has an image of SIZE bytes, for reading if READ_ONLY,
 * otherwise for reading and writing.  Check its size, and that a file is raw
 * and not in use.  Unless READ_ONLY, check that an export supports writes and
 * flushes, and flush data that was written before.  The caller must set the
 * operand and options of TARGET, and zero the other fields.  Returns 0, or -1
 * with the reason in ERROR; in the latter case TARGET must not be closed.
 */
int target_open (struct target *target, uint64_t size, bool read_only,
                 struct error *error);
void target_close (struct target *target);

/* Returns true if OPERAND is the target: the same URI, or the same file or
 * device under any name (see disk_id_is_same).  The operand is not locked, and
 * a URI is not connected to.
 */
bool target_is_operand (const struct target *target, const char *operand);

/* Returns true if the target is one of the files of SOURCE, such as a backing
 * file.
 */
bool target_is_in (const struct target *target, const struct source *source);

/* Prepare for the scan: open more connections to an NBD export. */
void target_begin_scan (const struct target *target);

/* Called after a scan that succeeded.  Close the connections that were opened
 * for the scan.  Check that a file was not written since it was opened, as far
 * as this can be detected, or that an NBD export still has a connection.
 * Returns 0, or -1 with the reason in ERROR.
 */
int target_end_scan (const struct target *target, struct error *error);

/* Check that a file still has the same size and its path still names it.  For
 * an NBD export, a connection that was lost after the scan is not detected
 * here: its next request fails.  Returns 0, or -1 with the reason in ERROR.
 */
int target_check_same (const struct target *target, struct error *error);

/* Read or write LEN bytes at OFFSET.  BUF must be aligned to READ_ALIGN bytes,
 * and LEN and OFFSET must be multiples of target->align.  Return 0, or -1 with
 * the reason in ERROR.
 */
int target_read (const struct target *target, void *buf, size_t len,
                 uint64_t offset, struct error *error);
int target_write (const struct target *target, const void *buf, size_t len,
                  uint64_t offset, struct error *error);

/* Same as target_read, for data that was written and flushed.  For a file or a
 * device it is an error if the data could have come from the page cache.
 */
int target_read_back (const struct target *target, void *buf, size_t len,
                      uint64_t offset, struct error *error);

/* Flush written data to the storage.  Returns 0, or -1 with the reason in
 * ERROR.
 */
int target_sync (const struct target *target, struct error *error);

#endif /* BLKSUM_TARGET_H */

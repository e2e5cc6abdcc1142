/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file, block device or NBD export in which blocks are
 * replaced.
 *
 * It is opened once, for writing, and never again: a file has one descriptor, and
 * an export one connection, which read it for the first time, write it, and read
 * it back.  So these cannot be of different disks.
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
  struct source_options options; /* to scan it */
  uint64_t size;                /* of the image, bytes */
  uint32_t align;               /* of what is read and written, bytes */
  bool read_only;
  struct source *source;        /* to scan it */

  struct direct_file file;      /* unless it is an export */
  struct disk_id id;
};

/* Open TARGET, of an image of SIZE bytes, for writing unless READ_ONLY, and check
 * all that can be checked.  What was written before is on the storage then, unless
 * READ_ONLY.  The caller has set operand and options, and the rest to 0.  0, or -1
 * with the reason; then the target need not be closed.
 */
int target_open (struct target *target, uint64_t size, bool read_only,
                 struct error *error);
void target_close (struct target *target);

/* True if OPERAND is the target: the same URI, or the same file under any name.
 * It is not locked and not connected to.
 */
bool target_is_operand (const struct target *target, const char *operand);

/* The same for the files of SOURCE, such as a backing file. */
bool target_is_in (const struct target *target, const struct source *source);

/* Check after the scan that nothing was written meanwhile, as far as that can be
 * detected.
 */
int target_check_unmodified (const struct target *target, struct error *error);

/* Check that the size is still the same, and that the name of a file is still that
 * of the target.
 */
int target_check_same (const struct target *target, struct error *error);

/* In these functions, BUF is aligned to READ_ALIGN, and LEN and OFFSET to
 * target->align.  They return 0, or -1 with the reason.
 */
int target_read (const struct target *target, void *buf, size_t len,
                 uint64_t offset, struct error *error);
int target_write (const struct target *target, const void *buf, size_t len,
                  uint64_t offset, struct error *error);

/* Read what was written and flushed.  It is an error if it can come from the page
 * cache.
 */
int target_read_back (const struct target *target, void *buf, size_t len,
                      uint64_t offset, struct error *error);

/* Wait until what was written is on the storage.  0, or -1 with the reason. */
int target_sync (const struct target *target, struct error *error);

#endif /* BLKSUM_TARGET_H */

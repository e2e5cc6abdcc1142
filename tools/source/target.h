/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file, block device or NBD export in which blocks are
 * replaced.
 *
 * It is read as a source first.  What the source is says whether a file can be
 * a target.  A server may accept only one connection at a time, so the target
 * and the source are never open at the same time.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "io/disk-id.h"
#include "io/write-file.h"
#include "nbd/write.h"

struct error;
struct source;

struct target {
  const struct target_ops *ops;
  const char *operand;
  uint64_t size, full_size;     /* of the image, bytes; with trailing data */
  uint32_t block_size;          /* of what is replaced, bytes */
  struct stat st;               /* of a file: when the source was opened */
  struct disk_id id;            /* of a file */

  /* When it is open. */
  union {
    struct write_file file;
    struct nbd_writer writer;
  };
};

/* Set TARGET to OPERAND, an image of SIZE bytes in blocks of BLOCK_SIZE bytes,
 * and check whether an export can be written.  0, or -1 with the reason.
 */
int target_init (struct target *target, const char *operand, uint64_t size,
                 uint32_t block_size, struct error *error);

/* Check, by the SOURCE of the same operand, that its size is that of TARGET and
 * whether a file can be written.  Nothing is opened for writing.  0, or -1 with
 * the reason.
 */
int target_set_source (struct target *target, const struct source *source,
                       struct error *error);

/* True if SOURCE has a file of the target, under any name. */
bool target_is_in (const struct target *target, const struct source *source);

/* Open TARGET, for writing unless READ_ONLY.  The source must be closed,
 * because it holds locks.  A file must be unmodified since then.  0, or -1
 * with the reason; then the target need not be closed.
 */
int target_open (struct target *target, bool read_only, struct error *error);
void target_close (struct target *target);

/* Read, or write, LEN bytes at OFFSET, which are whole blocks.  0, or -1 with
 * the reason.
 */
int target_read (const struct target *target, void *buf, size_t len,
                 uint64_t offset, struct error *error);
int target_write (const struct target *target, const void *buf, size_t len,
                  uint64_t offset, struct error *error);

/* Wait until what was written is on the storage.  0, or -1 with the reason. */
int target_sync (const struct target *target, struct error *error);

#endif /* BLKSUM_TARGET_H */

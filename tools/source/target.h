/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file, block device or NBD export in which blocks are
 * replaced.
 *
 * A file is opened once, and stays open to the end.  A server may accept only
 * one connection at a time, so an export is connected to check it, to scan it,
 * and to repair it, one after the other; and not while sources are checked.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/disk-id.h"
#include "io/write-file.h"
#include "nbd/write.h"
#include "util/source-options.h"

struct error;
struct source;

struct target {
  const struct target_ops *ops;
  const char *operand;
  struct source_options options; /* to scan it */
  uint64_t size, full_size;     /* of the image, bytes; with trailing data */
  uint32_t block_size;          /* of what is replaced, bytes */
  bool read_only;
  struct source *source;        /* to scan it; or NULL */

  union {
    struct {
      struct write_file file;
      struct disk_id id;
    };
    struct {
      struct nbd_writer writer;
      bool connected;           /* the writer is open */
    };
  };
};

/* Open TARGET, of an image of SIZE bytes in blocks of BLOCK_SIZE bytes, for
 * writing unless READ_ONLY, and check all that can be checked.  What was written
 * before is on the storage then, unless READ_ONLY.  The caller has set operand
 * and options, and the rest to 0.  0, or -1 with the reason; then the target
 * need not be closed.
 */
int target_open (struct target *target, uint64_t size, uint32_t block_size,
                 bool read_only, struct error *error);
void target_close (struct target *target);

/* True if OPERAND is the target: the same URI, or the same file under any name.
 * It is not locked and not connected to.
 */
bool target_is_operand (const struct target *target, const char *operand);

/* The same for the files of SOURCE, such as a backing file. */
bool target_is_in (const struct target *target, const struct source *source);

/* Set target->source, to be scanned. */
int target_begin_scan (struct target *target, struct error *error);

/* End the scan, and check that nothing was written meanwhile, as far as that
 * can be detected.  The functions below can be called after this.
 */
int target_end_scan (struct target *target, struct error *error);

/* Check that the name of a file is still that of the target. */
int target_check_path (const struct target *target, struct error *error);

/* Read LEN bytes at OFFSET, which are whole blocks.  0; -1 with the reason; or 1
 * if the storage cannot read them.
 */
int target_read (const struct target *target, void *buf, size_t len,
                 uint64_t offset, struct error *error);

/* Write LEN bytes at OFFSET, which are whole blocks.  0, or -1 with the reason.
 */
int target_write (const struct target *target, const void *buf, size_t len,
                  uint64_t offset, struct error *error);

/* Wait until what was written is on the storage.  0, or -1 with the reason. */
int target_sync (const struct target *target, struct error *error);

#endif /* BLKSUM_TARGET_H */

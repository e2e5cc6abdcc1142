/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file or block device in which blocks are replaced.
 *
 * A target is opened only once.  First it is scanned, to find the bad blocks;
 * holes of a file need not be read.  Then, for each bad block, the same file
 * descriptor is used for the read before the write, for the write, and for
 * reading back (see direct-file.h).  So these cannot access different disks.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "repair/direct-file.h"
#include "repair/disk-id.h"
#include "util/source-options.h"

struct error;
struct source;

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

#endif /* BLKSUM_TARGET_H */

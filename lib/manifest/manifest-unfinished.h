/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An unfinished manifest: what is known of an image while it is hashed, so that
 * blksum --resume can go on after a crash.
 *
 * It has the blocks from 0 to some block, in records of any length, and no end.
 * A public reader refuses it.
 *
 * Not public: it is the journal of blksum, and no format for others.
 */

#ifndef BLKHASH_MANIFEST_UNFINISHED_H
#define BLKHASH_MANIFEST_UNFINISHED_H

#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"

/* Create a writer for an image of SIZE bytes.  If NEXT is 0, the header comes
 * first.  Else FD stands where the last whole record of such a manifest ends,
 * of the blocks before NEXT, which are passed over when they come again.
 *
 * NULL with errno as of blkhash_manifest_writer_new; EINVAL also if SIZE is
 * BLKHASH_SIZE_UNKNOWN, or the image has less than NEXT blocks.
 */
struct blkhash_manifest_writer *
manifest_writer_new_unfinished (const struct blkhash_opts *opts,
                                uint64_t size, uint64_t next, int fd);

/* Have the header of W, which is still to be written, say ID, in its key
 * "journal": some text of one line, such as a number drawn at random.  EINVAL
 * if W is of another kind, or has written, or ID has 64 bytes or more.
 */
int manifest_writer_set_id (struct blkhash_manifest_writer *w, const char *id);

/* Write the header, if it is still to be written, and all leaves that the sink
 * of W was given, as records.  Nothing else writes.  They are on the disk after
 * fsync.  A table gives a run of zeros to its sink when it has ended, unless it
 * was created with BLKHASH_LEAVES_NO_SUM.
 *
 * Errors: EINVAL if W is of another kind; that of write(2); the first error of
 * the sink.
 */
int manifest_writer_flush (struct blkhash_manifest_writer *w);

/* blkhash_manifest_reader_new of a manifest that may be unfinished: one that
 * grows, or what a crash left of it.  blkhash_manifest_reader_next returns
 * ENOENT where the last whole record ends, whatever follows: a record that is
 * cut off or has a wrong CRC, zeros, other blocks than the next.  All runs
 * before are what was written, and blkhash_manifest_reader_error has the reason
 * why there are no more.  No sum is computed.  blkhash_manifest_reader_sum
 * stores the sum that a finished manifest of a whole image has, which is not
 * checked, and returns ENODATA for all others.
 */
struct blkhash_manifest_reader *
manifest_reader_new_unfinished (int fd, char *reason, size_t size);

/* Returns the ID in the header, or "".  It lives as long as R. */
const char *manifest_reader_id (const struct blkhash_manifest_reader *r);

/* Returns how many bytes R has read from where FD stood, of what it gave: the
 * header, the records of all runs, and the end.  What follows an unfinished
 * manifest can be cut off there, and other records written.
 */
uint64_t manifest_reader_offset (const struct blkhash_manifest_reader *r);

#endif /* BLKHASH_MANIFEST_UNFINISHED_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An unfinished manifest: the leaves of an image that is being hashed, with
 * which blksum --resume continues after a crash.
 *
 * It has the blocks from 0 to some block, in records of any length, and no end
 * record.  The public functions refuse it, because it is the journal of blksum
 * and not an exchange format.
 */

#ifndef BLKHASH_MANIFEST_UNFINISHED_H
#define BLKHASH_MANIFEST_UNFINISHED_H

#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"

/* Create a writer for an image of SIZE bytes.  If NEXT is 0, it writes the
 * header first.  Otherwise FD must be positioned after the last record of an
 * unfinished manifest that has the blocks before NEXT; if the writer receives
 * these blocks again, it ignores them.
 *
 * Returns NULL with errno set as by blkhash_manifest_writer_new; to EINVAL also
 * if SIZE is BLKHASH_SIZE_UNKNOWN, or the image has fewer than NEXT blocks.
 */
struct blkhash_manifest_writer *
manifest_writer_new_unfinished (const struct blkhash_opts *opts,
                                uint64_t size, uint64_t next, int fd);

/* Set the key "journal" in the header to ID: a text of one line, such as a
 * random number.  Returns 0; or EINVAL if W was not created by
 * manifest_writer_new_unfinished, if it has received blocks, if the header is
 * already in the file, or if ID has 64 bytes or more.
 */
int manifest_writer_set_id (struct blkhash_manifest_writer *w, const char *id);

/* Write the header, if it is not written yet, and all leaves that the sink of W
 * has received, as records.  No other function writes to the file.  The caller
 * syncs the file.  If the leaf table was created without BLKHASH_LEAVES_NO_SUM,
 * the last run of zeros may be missing, because such a table passes a run of
 * zeros to its sink only when the run has ended.
 *
 * Returns 0; EINVAL if W was not created by manifest_writer_new_unfinished;
 * ENOMEM; an error of write(2); or the first error of the sink.
 */
int manifest_writer_flush (struct blkhash_manifest_writer *w);

/* The same as blkhash_manifest_reader_new for a manifest that may be
 * unfinished, because it still grows or was left by a crash.
 * blkhash_manifest_reader_next returns ENOENT at the end of the last valid
 * record.  Invalid data after it is not an error: an incomplete record, a
 * record with a wrong CRC, zeros, or blocks out of order.
 * blkhash_manifest_reader_error then says what is invalid.  No sum is computed.
 * If the manifest is finished and has all blocks of the image,
 * blkhash_manifest_reader_sum stores the sum that is recorded in the manifest,
 * without verification; otherwise it returns ENODATA.
 */
struct blkhash_manifest_reader *
manifest_reader_new_unfinished (int fd, char *reason, size_t size);

/* Returns the value of the key "journal" in the header, or "".  It is valid
 * until R is freed.
 */
const char *manifest_reader_id (const struct blkhash_manifest_reader *r);

/* Returns the total size in bytes of the header, the records of the runs that
 * were returned, and the end record, if it was reached.  An unfinished manifest
 * can be truncated this many bytes after its beginning, and continued there.
 */
uint64_t manifest_reader_offset (const struct blkhash_manifest_reader *r);

#endif /* BLKHASH_MANIFEST_UNFINISHED_H */

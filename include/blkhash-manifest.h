/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Manifests: the leaves of an image in a file.
 *
 * Two disks can be compared by their manifests, without reading the disks.
 * blkhash-manifest(5) describes the file byte for byte.
 *
 * There are two ways to write a manifest:
 *
 *  - a writer is the sink of a leaf table, receives the leaves in the order of
 *    the image, and writes them as they arrive;
 *  - blkhash_leaves_save writes all leaves of a leaf table;
 *
 * and two ways to read a manifest:
 *
 *  - a reader returns the leaves in the order of the image, one run at a time;
 *  - blkhash_leaves_load creates a leaf table from a reader, and
 *    blkhash_leaves_put_run adds a run to a table, to merge parts.
 *
 * A differ returns the ranges in which two manifests differ, one at a time;
 * blkhash_manifest_diff passes them to a callback.
 *
 * These functions read or write at the file offset of a descriptor, with
 * read(2) or write(2), so a pipe is possible.  They never close the descriptor.
 * Writing to a broken pipe raises SIGPIPE, or returns EPIPE if the program
 * ignores that signal.
 *
 * Functions that return int return 0 or a positive errno value, unless noted
 * otherwise.  Constructors return NULL on error, and set errno.  Lengths and
 * offsets in the image are uint64_t, lengths in memory size_t, all in bytes.
 * Blocks are counted from 0.  Pointers must not be NULL unless it is permitted.
 *
 * Only one thread at a time may use a reader, a writer or a differ.  Different
 * ones are independent.  Functions of a leaf table are thread-safe.
 *
 * After fork(2) parent and child share the offset of the file, and each has a
 * copy of what was buffered.  So only one of the two may go on with a reader, a
 * differ or a writer, and the other one only frees it; this neither reads nor
 * writes.  If both go on, a reader returns errors, or runs that it has not
 * verified yet, and the file of a writer is wrong.
 */

#ifndef BLKHASH_MANIFEST_H
#define BLKHASH_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include <blkhash.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Writing --------------------------------------------------------- */

struct blkhash_manifest_writer;

/*
 * Create a writer that writes the manifest of an image of SIZE bytes to FD.
 * OPTS has the digest, the block size and the construction; NULL means the
 * defaults.
 *
 * SIZE can be BLKHASH_SIZE_UNKNOWN if FD is seekable, and was not opened with
 * O_APPEND: then the header is written last, with pwrite(2).  The constant is
 * UINT64_MAX, so an image of that size cannot have a manifest.
 *
 * Writes are buffered: an error of write(2), such as ENOSPC, can be returned
 * late, even by blkhash_manifest_writer_finish.
 *
 * Returns NULL and sets errno: ENOMEM; EINVAL if the configuration of OpenSSL
 * does not provide the digest, EIO if the digest failed; EBADF if FD is not
 * open for writing; with BLKHASH_SIZE_UNKNOWN, ESPIPE if FD is not seekable,
 * and EINVAL if it was opened with O_APPEND.
 */
struct blkhash_manifest_writer *
blkhash_manifest_writer_new (const struct blkhash_opts *opts, uint64_t size,
                             int fd);

/*
 * Create a writer of the manifest of a part of an image of SIZE bytes: COUNT
 * blocks from block FIRST on.  The manifest of a part has no digest of the
 * image, unless the part is the whole image.
 *
 * Returns NULL and sets errno like blkhash_manifest_writer_new, and to EINVAL
 * if SIZE is BLKHASH_SIZE_UNKNOWN, or if the image does not have these blocks.
 */
struct blkhash_manifest_writer *
blkhash_manifest_writer_new_part (const struct blkhash_opts *opts,
                                  uint64_t size, uint64_t first,
                                  uint64_t count, int fd);

/* Free W; NULL is allowed.  errno is preserved. */
void blkhash_manifest_writer_free (struct blkhash_manifest_writer *w);

/*
 * Returns the sink of W, for blkhash_leaves_set_sink of a table with the same
 * options.  After W was freed, blkhash_leaves_free is the only function that
 * may be called on the table.  Create the table with BLKHASH_LEAVES_ONCE |
 * BLKHASH_LEAVES_NO_SUM, because the writer computes the digest of the image,
 * and the table would compute it again.
 *
 * A writer of a part ignores the blocks outside the part.  Set these blocks to
 * zeros in the table, which costs nothing.
 *
 * The functions of the sink return EINVAL if a block is out of order, if
 * LEAF_SIZE is not that of the digest, or after blkhash_manifest_writer_finish;
 * ENOMEM, EIO, or the error of write(2).  Errors are sticky.
 */
struct blkhash_leaf_sink
blkhash_manifest_writer_sink (struct blkhash_manifest_writer *w);

/*
 * Write the end of the manifest, after the sink has received all leaves of an
 * image of SIZE bytes.  A reader refuses a manifest without its end.  The file
 * is not synced: call fsync(2).
 *
 * The digest of the image, which the writer has computed, is stored in MD, a
 * buffer of BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN.  MD and
 * LEN may be NULL.  A part of an image has no digest: nothing is stored in MD,
 * and 0 is stored in *LEN.
 *
 * Returns EINVAL, and can be called again, if SIZE is UINT64_MAX, if it is not
 * the SIZE of the constructor (unless that was BLKHASH_SIZE_UNKNOWN), or if the
 * sink has not received exactly the blocks of an image of SIZE bytes, or of the
 * part.  Also returns EINVAL after it has returned 0.  Other errors are sticky:
 * ENOMEM, EIO, the error of write(2), or the first error of the sink.  On error
 * nothing is stored in MD and *LEN.  If the size was unknown, SIZE must be that
 * of the table: a wrong size that ends in the same block is not detected.
 */
int blkhash_manifest_writer_finish (struct blkhash_manifest_writer *w,
                                    uint64_t size, unsigned char *md,
                                    unsigned int *len);

/*
 * Write the manifest of the image of L to FD.  All blocks must be set.  Stores
 * the digest of the image in MD and its length in bytes in *LEN, like
 * blkhash_leaves_fold; MD and LEN may be NULL.  The sink of L is not called.
 *
 * Errors: those of blkhash_leaves_fold and of write(2), after which the file
 * may have a part of the manifest; EBADF if FD is not open for writing; EINVAL
 * if the size is UINT64_MAX, or if L was created with BLKHASH_LEAVES_ONCE: such
 * a table requires a writer.
 */
int blkhash_leaves_save (struct blkhash_leaves *l, int fd, unsigned char *md,
                         unsigned int *len);

/* ---- Reading --------------------------------------------------------- */

struct blkhash_manifest_reader;

/*
 * The reader does not compute the digest of the image from the leaves, which
 * would take as long as folding a leaf table of the image.  The leaves are then
 * verified only by their CRCs.
 */
#define BLKHASH_MANIFEST_NO_SUM 1u

/*
 * Create a reader of the manifest in FD, and read its header.  FLAGS is 0 or
 * BLKHASH_MANIFEST_NO_SUM.
 *
 * This function and blkhash_manifest_reader_next treat the file as untrusted,
 * and use at most 8 MiB of memory.  But a file of 600 bytes can be the manifest
 * of an image of 2^63 zero bytes, whose digest takes weeks to compute.  If the
 * file is not trusted, check blkhash_manifest_reader_size first, or use
 * BLKHASH_MANIFEST_NO_SUM.
 *
 * Returns NULL and sets errno: EBADMSG if the file is not a manifest, or is
 * damaged or truncated; ENOTSUP if it has a later version, or a digest that
 * this library does not have; EINVAL for other flags; ENOMEM; EIO; or the error
 * of read(2), with EIO in place of ENOENT, EBADMSG and ENODATA.  The reason as
 * text, such as "not a blkhash manifest", is then stored in REASON, a buffer of
 * SIZE bytes; BLKHASH_MAX_REASON_SIZE is sufficient, and a longer text is
 * truncated.  REASON may be NULL.
 */
struct blkhash_manifest_reader *
blkhash_manifest_reader_new (int fd, unsigned flags, char *reason,
                             size_t size);

/* Free R; NULL is allowed.  errno is preserved. */
void blkhash_manifest_reader_free (struct blkhash_manifest_reader *r);

/*
 * Return the fields of the header: the options of the hash, which are valid
 * until R is freed; the size of the image in bytes; the range of blocks whose
 * leaves the manifest has, as *COUNT blocks from block *FIRST on; and 1 if
 * these are all blocks of the image, or 0 if this is the manifest of a part.
 */
const struct blkhash_opts *
blkhash_manifest_reader_opts (const struct blkhash_manifest_reader *r);
uint64_t blkhash_manifest_reader_size (const struct blkhash_manifest_reader *r);
void blkhash_manifest_reader_blocks (const struct blkhash_manifest_reader *r,
                                     uint64_t *first, uint64_t *count);
int
blkhash_manifest_reader_is_complete (const struct blkhash_manifest_reader *r);

/*
 * A run of blocks: COUNT blocks from block FIRST on.  LEAVES is the
 * concatenation of their leaves, or NULL if all of these blocks are zero.
 *
 * A program that creates a run must set all members; reserved must be 0.
 */
struct blkhash_manifest_run {
  uint64_t first, count;
  const unsigned char *leaves;  /* NULL: blocks of zeros */
  size_t leaf_size;             /* of each leaf, bytes */
  uint64_t reserved[4];         /* 0; for later versions */
};

/*
 * Read the next run of blocks, and store it in *RUN; its leaves are valid until
 * the next call.  Each run begins where the previous one ends.  A run of data
 * has up to 65536 blocks; consecutive zeros are one run.  The next call adds
 * the run to the digest of the image, which takes a long time for many zeros:
 * see blkhash_zero and blkhash_manifest_reader_new.
 *
 * Returns ENOENT at the end.  Only then are all runs verified: no block is
 * missing, and the digest in the file is that of the leaves (the digest is not
 * checked in a part, or with BLKHASH_MANIFEST_NO_SUM).  Other errors are those
 * of blkhash_manifest_reader_new.  Errors are sticky.
 */
int blkhash_manifest_reader_next (struct blkhash_manifest_reader *r,
                                  struct blkhash_manifest_run *run);

/*
 * Store the digest of the image, which the manifest contains, in MD, a buffer
 * of BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN (LEN may be
 * NULL).  Returns ENODATA before blkhash_manifest_reader_next has returned
 * ENOENT, or if this is the manifest of a part.
 */
int blkhash_manifest_reader_sum (const struct blkhash_manifest_reader *r,
                                 unsigned char *md, unsigned int *len);

/*
 * Returns the reason for the last error of blkhash_manifest_reader_next,
 * blkhash_leaves_load or a comparison with R, as text, such as "the record at
 * byte 512 has a wrong CRC"; or an empty text if there was none.  A call that
 * only returns a sticky error again does not change the text, nor does
 * blkhash_manifest_reader_sum.  The text is valid until the next call with R.
 */
const char *
blkhash_manifest_reader_error (const struct blkhash_manifest_reader *r);

/*
 * Create a leaf table with the leaves of the manifest R.  R must have been
 * created without flags, and blkhash_manifest_reader_next must not have been
 * called.  If R is the manifest of a part, all other blocks are missing in the
 * table.  The memory grows with the leaves in the file, not with the size in
 * the header.
 *
 * Returns NULL and sets errno to an error of blkhash_manifest_reader_next or
 * blkhash_leaves_new, or to EINVAL if R is not such a reader.
 * blkhash_manifest_reader_error returns the reason as text.
 */
struct blkhash_leaves *blkhash_leaves_load (struct blkhash_manifest_reader *r);

/*
 * Set the leaves of the blocks of RUN in L, whose size must be known.  The
 * effect is that of blkhash_leaves_data or blkhash_leaves_zero with the content
 * of the blocks: a leaf that is that of a block of zeros sets the block to
 * zeros, and so does the leaf of a short last block of zeros.  But with a
 * digest that is not cryptographic, such as xxh64, data can have the leaf of
 * zeros, so the block is data: pass blocks of zeros as a run without leaves.
 * The caller must check that the leaves have the digest and the block size of
 * L, see blkhash_opts_same_hash.
 *
 * To merge manifests of parts, put their runs, in the order of the image, into
 * a table that was created with BLKHASH_LEAVES_ONCE and BLKHASH_LEAVES_NO_SUM,
 * and whose sink is a writer.
 *
 * Errors: EINVAL if the image does not have these blocks, if its size is not
 * known, if the leaves do not have the size of those of L, or if reserved is
 * not 0: nothing is changed; others as in blkhash_leaves_data.  Thread-safe.
 */
int blkhash_leaves_put_run (struct blkhash_leaves *l,
                            const struct blkhash_manifest_run *run);

/* ---- Comparing ------------------------------------------------------- */

struct blkhash_manifest_differ;

/*
 * Create a differ, which finds the ranges in which the images of two manifests
 * differ.  A and B are two different readers on which
 * blkhash_manifest_reader_next was not called.  They must have the same digest
 * and block size; the constructions can differ.  Until the differ is freed, no
 * other function may be called with them but those that return fields of the
 * header, blkhash_manifest_reader_sum and blkhash_manifest_reader_error.
 *
 * Returns NULL and sets errno: ENOMEM; EINVAL if A and B are not such readers,
 * or have different digests or block sizes, or the digest null; or if one is a
 * part of an image, and the other is not the same part of an image of the same
 * size.  Nothing was read.  blkhash_manifest_reader_error returns the reason as
 * text for both readers.
 */
struct blkhash_manifest_differ *
blkhash_manifest_differ_new (struct blkhash_manifest_reader *a,
                             struct blkhash_manifest_reader *b);

/*
 * Free D; NULL is allowed.  The readers are not freed, and can be freed before
 * or after.  errno is preserved.
 */
void blkhash_manifest_differ_free (struct blkhash_manifest_differ *d);

/*
 * Find the next range that differs, in the order of the image, and store its
 * start in *START and its length in *LEN, in bytes.  All blocks of a range
 * differ, and adjacent ranges are merged.  No range passes the end of the
 * larger image, whose last block can be short.  Blocks of the larger image that
 * are beyond the end of the smaller one are compared with zeros.  Both readers
 * are read alternately, one run at a time.  The memory does not depend on the
 * sizes of the images.
 *
 * Returns ENOENT or ENODATA after the last range: only then are the ranges
 * verified.  If there was no range, the digests of the images can still differ,
 * because the larger image can have zeros at its end, or because the
 * constructions differ.  Errors, which are sticky:
 *
 *  - ENOENT: there are no more ranges; all other blocks are equal.
 *  - ENODATA: the same, except for one block: the smaller image, of SIZE bytes,
 *    ends within it, and both images have data in it.  Digests do not show
 *    whether the rest of the block is zero in the larger image.  The block
 *    begins at byte SIZE - SIZE % block_size, and was not returned.
 *  - EBADMSG: both images have the same size and construction, and either the
 *    same digest and different leaves, or different digests and the same
 *    leaves.
 *  - errors of blkhash_manifest_reader_next, of A or of B.
 *
 * blkhash_manifest_reader_error returns the reason as text for both readers.
 * If one reader caused the error, the text of the other one is empty.  *START
 * and *LEN are not set on error.
 */
int blkhash_manifest_differ_next (struct blkhash_manifest_differ *d,
                                  uint64_t *start, uint64_t *len);

/*
 * Call DIFFER for each range in which the images of A and B differ: LEN bytes
 * from START on.  The readers, the ranges and the errors are those of
 * blkhash_manifest_differ_new and blkhash_manifest_differ_next, but no memory
 * is allocated, and 0 takes the place of ENOENT.
 *
 * DIFFER returns 0, or a positive errno value, which ends the comparison and is
 * returned; then the error texts of both readers are empty.  It must not use A
 * or B.
 */
int blkhash_manifest_diff (struct blkhash_manifest_reader *a,
                           struct blkhash_manifest_reader *b,
                           int (*differ) (void *opaque, uint64_t start,
                                          uint64_t len),
                           void *opaque);

#ifdef __cplusplus
}
#endif

#endif /* BLKHASH_MANIFEST_H */

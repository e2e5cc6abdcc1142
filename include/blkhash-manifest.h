/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Manifests: the leaves of an image in a file.
 *
 * A manifest shows which blocks of two disks differ, without both disks.
 * blkhash-manifest(5) describes the file byte for byte.
 *
 * There are two ways to write one:
 *
 *  - a writer gets the leaves in the order of the image, by the sink of a leaf
 *    table, and keeps next to nothing in memory;
 *  - blkhash_leaves_save writes all leaves of a leaf table;
 *
 * and two ways to read one:
 *
 *  - a reader returns the leaves in the order of the image, and keeps next to
 *    nothing in memory;
 *  - blkhash_leaves_load makes a leaf table of what a reader returns, and
 *    blkhash_leaves_put_run adds to one, so that parts become a whole;
 *
 * and blkhash_manifest_diff finds where two of them differ.
 *
 * All of them read or write at the offset of a file descriptor, with read(2) or
 * write(2), so that it can be a pipe.  The descriptor stays the caller's.  A
 * broken pipe is SIGPIPE, or EPIPE if the program ignores that signal.
 *
 * Functions that return int return 0, or a positive errno value, unless their
 * comment says otherwise.  Constructors return NULL and set errno.  Lengths and
 * offsets in the image are uint64_t, lengths in memory size_t.  Pointers must
 * not be NULL unless the comment says so.
 *
 * One thread at a time may use a reader or a writer.  Different ones are
 * independent.
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
 * Create a writer of the manifest of an image of SIZE bytes to FD.  OPTS has
 * the digest, the block size and the construction; NULL means the defaults.
 *
 * SIZE can be BLKHASH_SIZE_UNKNOWN if FD can seek, and was not opened with
 * O_APPEND: then the header is written last, with pwrite(2).  No manifest has
 * the size UINT64_MAX, which is that value.
 *
 * What is written is buffered: an error of write(2), ENOSPC for instance, can
 * come as late as blkhash_manifest_writer_finish.
 *
 * Returns NULL and sets errno: ENOMEM; EINVAL if the configuration of OpenSSL
 * does not provide the digest, EIO if it failed; EBADF if FD is not open for
 * writing; ESPIPE or EINVAL if FD needs a known SIZE.
 */
struct blkhash_manifest_writer *
blkhash_manifest_writer_new (const struct blkhash_opts *opts, uint64_t size,
                             int fd);

/*
 * Create a writer of the manifest of a part of an image of SIZE bytes: of COUNT
 * blocks from block FIRST on.  The manifest of a part has no digest of the
 * image, unless these are all blocks of it.
 *
 * Returns NULL and sets errno as blkhash_manifest_writer_new; EINVAL also if
 * SIZE is BLKHASH_SIZE_UNKNOWN, or the image does not have these blocks.
 */
struct blkhash_manifest_writer *
blkhash_manifest_writer_new_part (const struct blkhash_opts *opts,
                                  uint64_t size, uint64_t first,
                                  uint64_t count, int fd);

/* Free W; NULL is allowed.  errno is preserved. */
void blkhash_manifest_writer_free (struct blkhash_manifest_writer *w);

/*
 * Returns the sink that gives leaves to W, for blkhash_leaves_set_sink of a
 * table with the same options.  W must live until the last call on the table
 * but blkhash_leaves_free.  The table should have BLKHASH_LEAVES_NO_SUM: the
 * writer computes the digest of the image, and the table would compute it once
 * more.
 *
 * A writer of a part ignores blocks that are not in it.  So they can be given
 * to the table as zeros, which costs nothing.
 *
 * The functions of the sink return EINVAL if a block is out of order, ENOMEM,
 * EIO, or the error of write(2).  The first error sticks.
 */
struct blkhash_leaf_sink
blkhash_manifest_writer_sink (struct blkhash_manifest_writer *w);

/*
 * Write the end of the manifest, when the sink has got all leaves of an image
 * of SIZE bytes.  Only then is there a manifest: a reader refuses what was
 * written before.  It is on the disk after fsync(2).
 *
 * The writer has computed the digest of the image.  It is stored in MD, which
 * must have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in
 * *LEN.  Both may be NULL.  A part of an image has no digest: nothing is stored
 * in MD then, and 0 in *LEN.
 *
 * Errors: EINVAL if the blocks are not those of an image of SIZE bytes, or of
 * the part of it, if SIZE is not that given to blkhash_manifest_writer_new, or
 * is UINT64_MAX: nothing changes then, and it can be called again; EINVAL
 * after it returned 0; ENOMEM, EIO; that of write(2); the first error of the
 * sink: these stick.  Nothing is stored on error.
 */
int blkhash_manifest_writer_finish (struct blkhash_manifest_writer *w,
                                    uint64_t size, unsigned char *md,
                                    unsigned int *len);

/*
 * Write the manifest of the image of L, which is complete, to FD.  Stores the
 * digest of the image in MD and its length in bytes in *LEN, as
 * blkhash_leaves_fold does; both may be NULL.  The sink of L is not called.
 *
 * Errors: those of blkhash_leaves_fold; that of write(2); EBADF if FD is not
 * open for writing; EINVAL if the size is UINT64_MAX, or if L was created with
 * BLKHASH_LEAVES_ONCE: it needs a writer and its sink.
 */
int blkhash_leaves_save (struct blkhash_leaves *l, int fd, unsigned char *md,
                         unsigned int *len);

/* ---- Reading --------------------------------------------------------- */

struct blkhash_manifest_reader;

/*
 * Do not compute the digest of the image from the leaves, which takes as long
 * as to fold a table of that size.  Then the CRCs alone show that the leaves
 * are those that were written.
 */
#define BLKHASH_MANIFEST_NO_SUM 1u

/* The longest reason of blkhash_manifest_reader_new, in bytes, with its NUL. */
#define BLKHASH_MAX_REASON_SIZE 160

/*
 * Create a reader of the manifest in FD, and read its header.  FLAGS is 0 or
 * BLKHASH_MANIFEST_NO_SUM.
 *
 * This and blkhash_manifest_reader_next trust nothing that is in the file, and
 * keep at most 8 MiB in memory.  But a file of 600 bytes can be the manifest of
 * 2^63 zeros, whose digest takes weeks.  If the file is not trusted, look at
 * blkhash_manifest_reader_size first, or use BLKHASH_MANIFEST_NO_SUM.
 *
 * Returns NULL and sets errno: EBADMSG if this is no manifest, or is damaged or
 * cut off; ENOTSUP if it is of a later version, or of a digest that this
 * library does not have; EINVAL for other flags; ENOMEM, EIO; that of read(2).
 * The reason in words, such as "not a blkhash manifest", is printed to REASON
 * then, which has room for SIZE bytes: BLKHASH_MAX_REASON_SIZE is enough, and
 * what does not fit is cut off.  REASON may be NULL.
 */
struct blkhash_manifest_reader *
blkhash_manifest_reader_new (int fd, unsigned flags, char *reason,
                             size_t size);

/* Free R; NULL is allowed.  errno is preserved. */
void blkhash_manifest_reader_free (struct blkhash_manifest_reader *r);

/*
 * Return what the header says: how the hash is made, the size of the image in
 * bytes, and of which COUNT blocks from block FIRST on the leaves are in the
 * manifest; and 1 if it is complete, which means that these are all blocks of
 * the image, or 0 if it is the manifest of a part.  The options live as long as
 * R.
 */
const struct blkhash_opts *
blkhash_manifest_reader_opts (const struct blkhash_manifest_reader *r);
uint64_t blkhash_manifest_reader_size (const struct blkhash_manifest_reader *r);
void blkhash_manifest_reader_blocks (const struct blkhash_manifest_reader *r,
                                     uint64_t *first, uint64_t *count);
int
blkhash_manifest_reader_is_complete (const struct blkhash_manifest_reader *r);

/*
 * Consecutive blocks: COUNT of them from block FIRST on.  LEAVES is their
 * leaves, one behind the other, or NULL if all of them are zero.
 *
 * A program that makes a run sets all members: reserved to 0.
 */
struct blkhash_manifest_run {
  uint64_t first, count;
  const unsigned char *leaves;  /* NULL: blocks of zeros */
  size_t leaf_size;             /* of each leaf, bytes */
  uint64_t reserved[4];         /* 0; for later versions */
};

/*
 * Read the next blocks, and store them in *RUN; their leaves are valid until
 * the next call.  Each run begins where the one before it ends.  Data comes in
 * runs of up to 65536 blocks, consecutive zeros come in one run.  The next call
 * adds the run to the digest of the image, which takes long for many zeros: see
 * blkhash_zero, and blkhash_manifest_reader_new.
 *
 * Errors: ENOENT when there are no more.  Only then are all runs before known
 * to be right: the manifest is whole, and its digest is that of its leaves.
 * Others as of blkhash_manifest_reader_new.  The first error sticks.
 */
int blkhash_manifest_reader_next (struct blkhash_manifest_reader *r,
                                  struct blkhash_manifest_run *run);

/*
 * Store the digest of the image that the manifest contains in MD, which must
 * have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN (LEN
 * may be NULL), after blkhash_manifest_reader_next returned ENOENT.
 *
 * Errors: ENODATA before that, or if this is the manifest of a part.
 */
int blkhash_manifest_reader_sum (const struct blkhash_manifest_reader *r,
                                 unsigned char *md, unsigned int *len);

/*
 * Returns the reason for the last error of blkhash_manifest_reader_next,
 * blkhash_leaves_load or blkhash_manifest_diff with R, in words, such as "the
 * record at byte 512 has a wrong CRC".  An error that is returned again,
 * because it sticks, does not store its reason again, and
 * blkhash_manifest_reader_sum stores none.  It is valid until the next call.
 */
const char *
blkhash_manifest_reader_error (const struct blkhash_manifest_reader *r);

/*
 * Create a leaf table of the manifest that R reads, which was created without
 * flags, and has read nothing but the header.  If it is the manifest of a part,
 * all other blocks are missing in the table.  Memory grows with the leaves that
 * are really there.
 *
 * Returns NULL and sets errno to an error of blkhash_manifest_reader_next or of
 * blkhash_leaves_new, or to EINVAL if R is of another kind.
 * blkhash_manifest_reader_error returns the reason in words.
 */
struct blkhash_leaves *blkhash_leaves_load (struct blkhash_manifest_reader *r);

/*
 * Set the blocks of RUN in L, whose size is known, to their leaves: as if their
 * content were given, with blkhash_leaves_data or blkhash_leaves_zero.  The
 * caller must see that the leaves are of the digest and the block size of L,
 * see blkhash_opts_same_hash.
 *
 * So manifests of parts become one: their runs go, in the order of the image,
 * to a table that was created with BLKHASH_LEAVES_ONCE and
 * BLKHASH_LEAVES_NO_SUM, and the sink of that table is the sink of a writer.
 *
 * Errors: EINVAL if the image does not have these blocks, if its size is not
 * known, if the leaves have another size than those of L, or if reserved is not
 * 0; others as of blkhash_leaves_data.  Any number of threads may call it.
 */
int blkhash_leaves_put_run (struct blkhash_leaves *l,
                            const struct blkhash_manifest_run *run);

/* ---- Comparing ------------------------------------------------------- */

/*
 * Find where the images of two manifests differ.  A and B are two readers that
 * have read nothing but the headers, of the same digest and block size; which
 * construction does not matter.  Both are read to their ends at the same time,
 * in constant memory, whatever the sizes of the images.
 *
 * DIFFER is called for each range in which the images differ: LEN bytes from
 * START on, in the order of the image.  A range is whole blocks, each of which
 * has a byte that differs, and ends where the larger image ends; ranges do not
 * touch each other.  What is beyond the end of the smaller image is compared
 * with zeros.  DIFFER returns 0, or a positive errno value, which ends the
 * comparison and is returned.  It must not use A or B.
 *
 * Returns 0 when these were all ranges.  Only then, and with ENODATA, are the
 * ranges known to be right.  No range at all does not mean that the digests of
 * the images are the same: the larger one can have zeros at its end.  Errors:
 *
 *  - ENODATA: the smaller image, of SIZE bytes, ends within a block, and both
 *    have data in it.  Digests do not show whether the larger image has only
 *    zeros in the rest of that block, which begins at byte SIZE - SIZE %
 *    block_size.  DIFFER was not called for it, but for all others that differ.
 *  - EINVAL: A and B are not such readers, or they are of different digests or
 *    block sizes, or of the digest null; or one is a part of an image and the
 *    other is not the same part of an image of the same size.  Nothing was
 *    read.
 *  - EBADMSG: both images have the same size and construction, and the same
 *    digest but other leaves, or another digest but the same leaves.
 *  - those of blkhash_manifest_reader_next, of A or of B.
 *
 * blkhash_manifest_reader_error of A and of B returns the reason in words.  It
 * is empty for a reader that did not cause the error, and for both if DIFFER
 * did.
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

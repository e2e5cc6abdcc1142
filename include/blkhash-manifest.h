/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Manifests: the leaves of an image in a file.
 *
 * With them a program can tell which blocks of two disks differ, without both
 * disks.  blkhash-manifest(5) describes the file byte for byte.
 *
 * There are two ways to write one:
 *
 *  - a writer is told of the leaves in the order of the image, by the sink of
 *    a leaf table, and keeps next to nothing in memory;
 *  - blkhash_leaves_save writes all that a leaf table knows;
 *
 * and two ways to read one:
 *
 *  - a reader gives the leaves in the order of the image, and keeps next to
 *    nothing in memory;
 *  - blkhash_leaves_load makes a leaf table of what a reader gives, and
 *    blkhash_leaves_put_run adds to one, so that parts become a whole;
 *
 * and blkhash_manifest_diff tells where two of them differ.
 *
 * All of them use a file descriptor that stays the caller's: from where it
 * stands, with read or write, so that it can be a pipe.  A broken pipe is
 * SIGPIPE, unless the program ignores that, and then EPIPE.
 *
 * Functions that return int return 0, or a positive errno value.
 * Constructors return NULL and set errno.  One thread at a time may use a
 * reader or a writer.
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
 * O_APPEND: then the header is written last, with pwrite.
 *
 * Returns NULL and sets errno: ENOMEM; EINVAL if the configuration of OpenSSL
 * does not provide the digest; ESPIPE or EINVAL if SIZE has to be known for FD.
 */
struct blkhash_manifest_writer *
blkhash_manifest_writer_new (const struct blkhash_opts *opts, uint64_t size,
                             int fd);

/*
 * The same of a part of an image: of COUNT blocks from block FIRST on.  The
 * manifest of a part has no sum, unless these are all blocks of the image.
 *
 * EINVAL also if SIZE is BLKHASH_SIZE_UNKNOWN, or the image does not have these
 * blocks.
 */
struct blkhash_manifest_writer *
blkhash_manifest_writer_new_part (const struct blkhash_opts *opts,
                                  uint64_t size, uint64_t first,
                                  uint64_t count, int fd);

/* Free W; NULL is allowed.  errno is preserved. */
void blkhash_manifest_writer_free (struct blkhash_manifest_writer *w);

/*
 * Who is to be told of the leaves, for blkhash_leaves_set_sink, of a table with
 * the same options.  W must outlive the fold.
 *
 * A writer of a part passes over the blocks that are not in it, whatever they
 * are.  So they can be given as zeros, to a table with BLKHASH_LEAVES_NO_SUM,
 * which costs nothing.
 *
 * What the functions return is EINVAL if blocks do not come in order, or
 * ENOMEM, or what write(2) said.  The first error sticks.
 */
struct blkhash_leaf_sink
blkhash_manifest_writer_sink (struct blkhash_manifest_writer *w);

/*
 * Write the end of the manifest, when the sink has got all leaves of an image of
 * SIZE bytes.  Only then there is a manifest: a reader refuses what was written
 * before.  It is on the disk after fsync.
 *
 * The writer has computed the digest of the image, which is stored in MD, which
 * must have room for BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN.
 * Both may be NULL.  A part of an image has no digest: nothing is stored in MD
 * then, and 0 in *LEN.
 *
 * Errors: EINVAL if the blocks are not those of an image of SIZE bytes, or of
 * the part of it, if SIZE is not that given to blkhash_manifest_writer_new, or on
 * a second call; ENOMEM, EIO; that of write(2); the first error of the sink.
 * Nothing is stored on error.
 */
int blkhash_manifest_writer_finish (struct blkhash_manifest_writer *w,
                                    uint64_t size, unsigned char *md,
                                    unsigned int *len);

/*
 * Write the manifest of the image that L knows all of, and fold L as
 * blkhash_leaves_fold does, with its errors; MD may be NULL.  Its sink is not
 * told.  EINVAL if L was created with BLKHASH_LEAVES_ONCE: it has a sink for
 * that.
 */
int blkhash_leaves_save (struct blkhash_leaves *l, int fd, unsigned char *md,
                         unsigned int *len);

/* ---- Reading --------------------------------------------------------- */

struct blkhash_manifest_reader;

/*
 * Do not compute the sum of the leaves, which takes as long as the fold of an
 * image of that size.  Then the CRCs alone tell that the leaves are those that
 * were written.
 */
#define BLKHASH_MANIFEST_NO_SUM 1u

/* The longest reason of blkhash_manifest_reader_new, in bytes, with its NUL. */
#define BLKHASH_MAX_REASON_SIZE 160

/*
 * Create a reader of the manifest in FD, and read its header.  FLAGS is 0 or
 * BLKHASH_MANIFEST_NO_SUM.
 *
 * This and blkhash_manifest_reader_next trust nothing that is in the file, and
 * keep at most 8 MiB in memory.
 *
 * Returns NULL and sets errno: EBADMSG if this is no manifest, or is damaged or
 * cut off; ENOTSUP if it is of a later version, or of a digest that this
 * library does not have; EINVAL for other flags; ENOMEM; that of read(2).
 * The reason in words, such as "it is no manifest of blkhash", is printed to
 * REASON then, which has room for SIZE bytes: BLKHASH_MAX_REASON_SIZE is
 * enough, and what does not fit is cut off.  REASON may be NULL.
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
 * Consecutive blocks: COUNT of them from block FIRST on, of data, whose leaves
 * lie one behind the other in LEAVES, or all zero.
 */
struct blkhash_manifest_run {
  uint64_t first, count;
  const unsigned char *leaves;  /* NULL: blocks of zeros */
  size_t leaf_size;             /* bytes */
  uint64_t reserved[4];         /* 0; for later versions */
};

/*
 * Read on.  Stores the next blocks in *RUN; LEAVES are valid until the next
 * call.  Each run begins where the one before ended.  Data comes in parts of up
 * to 65536 blocks, zeros come whole.  The next call adds a run to the sum,
 * which takes long if it is many zeros.
 *
 * Errors: ENOENT when there are no more.  Only then it is known that all before
 * is right: the manifest is complete, and its sum is that of the leaves.
 * Others as in blkhash_manifest_reader_new.
 */
int blkhash_manifest_reader_next (struct blkhash_manifest_reader *r,
                                  struct blkhash_manifest_run *run);

/*
 * Store the sum that the manifest says in MD, which must have room for
 * BLKHASH_MAX_MD_SIZE bytes, and its length in bytes in *LEN (LEN may be NULL),
 * after blkhash_manifest_reader_next returned ENOENT.
 *
 * Errors: ENODATA before that, or if this is a part, which has no sum.
 */
int blkhash_manifest_reader_sum (const struct blkhash_manifest_reader *r,
                                 unsigned char *md, unsigned int *len);

/*
 * The reason for the last error of a function of R, in words, such as "the
 * record at byte 512 has a wrong CRC".  Valid until the next call.
 */
const char *
blkhash_manifest_reader_error (const struct blkhash_manifest_reader *r);

/*
 * Make a leaf table of what R gives, which was created without flags and of which
 * nothing but the header was read.  Of a part, all other blocks are
 * missing in the table.  Memory grows with the leaves that are really there.
 *
 * Returns NULL and sets errno to an error of blkhash_manifest_reader_next, of
 * blkhash_leaves_new, or to EINVAL.
 */
struct blkhash_leaves *blkhash_leaves_load (struct blkhash_manifest_reader *r);

/*
 * The blocks of RUN are those of the image of L, whose size is known: as if
 * their content were given, with blkhash_leaves_data or blkhash_leaves_zero.
 * It is up to the caller that the leaves are of the digest and the block size
 * of L, see blkhash_opts_same_hash.
 *
 * So manifests of parts are put together: their runs go to a table that was
 * created with BLKHASH_LEAVES_ONCE, in their order, and the sink of a writer to
 * that table.
 *
 * Errors: EINVAL if the image does not have these blocks, if its size is not
 * known, if the leaves have another size than those of L, or if reserved is not
 * 0; others as in blkhash_leaves_data.
 */
int blkhash_leaves_put_run (struct blkhash_leaves *l,
                            const struct blkhash_manifest_run *run);

/* ---- Comparing ------------------------------------------------------- */

/*
 * Where do the images of two manifests differ?  A and B are two readers of
 * which nothing but the headers was read, of the same digest and block size; of which
 * construction does not matter.  Both are read to their ends at the same time.
 * Nothing is kept but what they need, whatever the sizes of the images.
 *
 * DIFFER is told of each range in which the images differ: of LEN bytes from
 * START on, in the order of the image.  A range is whole blocks, of which some
 * byte of each differs, but ends where the larger image ends; ranges do not
 * touch each other.  What is beyond the end of the smaller image is compared
 * with zeros.  DIFFER returns 0, or a positive errno value, which ends this and
 * is returned.  It must not use A or B.
 *
 * 0: these were all.  Only then, and with ENODATA, it is known that what DIFFER
 * was told is right.  Errors:
 *
 *  - ENODATA: the smaller image ends within a block, both have data in it, and
 *    nobody can tell by digests whether the larger one has only zeros behind
 *    it.  DIFFER was not told of this block, but of all others that differ.
 *  - EINVAL: A and B are not such readers, or they are of different digests or
 *    block sizes, or of the digest null; or one is a part of an image and the other
 *    is not the same part of an image of the same size.  Nothing was read.
 *  - EBADMSG: both images have the same size and construction, and the same sum
 *    but other leaves, or another sum but the same leaves.
 *  - those of blkhash_manifest_reader_next, of A or of B.
 *
 * blkhash_manifest_reader_error of A and of B has the reason in words; of one
 * that is not to blame, and if it was DIFFER, it is empty.
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

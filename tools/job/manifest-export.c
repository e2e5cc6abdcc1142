/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: make of a manifest what other programs verify an image with.
 *
 *     verity     superblock │ hash tree, the highest level first
 *     fsverity   the digest of a descriptor, which has the root of the same
 *                tree; the tree is not stored
 *     leaves     leaves │ le64 (length): its digest is the sum
 *
 * The leaves of blocks of 4 KiB are the lowest level of both trees, so the
 * image is not read.  But fs-verity pads the last block of the file with zeros,
 * and a leaf is that of the block without padding.  So a short last block that
 * is not zero is read from the image, and compared with its leaf first.  If an
 * image is given, zeros there are compared, too.
 *
 * The manifest is read once, so that it can be a pipe: its sum is verified when
 * all leaves have been written.  OUT gets its name only then.  The manifest is
 * untrusted: it can say that the image has 2^63 bytes of zeros.  The space for
 * OUT is allocated before anything is written, if the file system can do that.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest-format.h"
#include "../lib/manifest/manifest-sum.h"
#include "blkhash-manifest.h"
#include "io/new-file.h"
#include "job/hash-tree.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "job/overlay-runs.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"

#define BLOCK_SIZE EXPORT_BLOCK_SIZE
#define BLOCK_SIZE_LOG 12
#define DESCRIPTOR_SIZE 256     /* that of the structure of the kernel */
#define LENGTH_SIZE 8           /* of the length after the leaves */

struct export {
  const struct export_request *request;
  struct export_result *result;
  const char **operand;
  struct error *error;

  /* From the manifest. */
  const struct blkhash_opts *opts;
  const char *digest_name;
  uint64_t size;                /* of the image, bytes */
  uint64_t count;               /* blocks */
  struct manifest_zeros zeros;

  struct digest *digest;
  struct hash_tree *tree;       /* NULL for EXPORT_LEAVES */
  struct source *image;         /* NULL if there is none */
  bool differs;                 /* its last block does not have its leaf */

  struct replacement file;      /* OUT; its fd is -1 if there is none */
  FILE *out;                    /* writes to FILE; NULL if it is not open */
  char buffer[65536];           /* of OUT */
};

/* ---- What can be exported ---- */

static int
check_tree (const struct export *export, const char *tag)
{
  bool can = strcmp (export->digest_name, "sha256") == 0 ||
    strcmp (export->digest_name, "sha512") == 0;

  if (!can || blkhash_opts_get_block_size (export->opts) != BLOCK_SIZE)
    return error_set (export->error, "is a manifest of %s, not of sha256 or "
                      "sha512 with blocks of 4k; make it by blksum -d sha256/4k "
                      "--manifest FILE, or in the filter by "
                      "blkhash-digest=sha256/4k", tag);
  if (export->request->form == EXPORT_FSVERITY)
    return 0;
  if (export->size == 0)
    return error_set (export->error, "is of an empty image, and dm-verity "
                      "needs a block");
  if (export->size % BLOCK_SIZE != 0)
    return error_set (export->error, "is of an image of %" PRIu64 " bytes, and "
                      "dm-verity has whole blocks of %d; extend the image to a "
                      "multiple of that, and hash it again", export->size,
                      BLOCK_SIZE);
  return 0;
}

static int
check_leaves (const struct export *export, const char *tag)
{
  if (blkhash_opts_get_digest_size (export->opts) == 0)
    return error_set (export->error, "has no leaves: the digest is %s",
                      export->digest_name);
  if (blkhash_opts_get_linear (export->opts) ||
      blkhash_opts_get_streams (export->opts) != 0)
    return error_set (export->error, "is a manifest of %s, whose sum is not the "
                      "digest of the leaves and the length; make it by blksum "
                      "-d with DIGEST/SIZE alone", tag);
  return 0;
}

static int
check (const struct export *export,
       const struct blkhash_manifest_reader *reader)
{
  char tag[BLKHASH_MAX_TAG_SIZE] = "";

  if (!blkhash_manifest_reader_is_complete (reader))
    return error_set (export->error, "is the manifest of a part of an image; "
                      "blkhash merge makes that of the image");
  blkhash_opts_get_tag (export->opts, tag, sizeof tag);
  return export->request->form == EXPORT_LEAVES ? check_leaves (export, tag)
                                                : check_tree (export, tag);
}

/* ---- OUT ---- */

static int
write_failed (const struct export *export, int err)
{
  return error_errno (export->error, err, "cannot write %s",
                      export->request->out);
}

/* Write COUNT units of SIZE bytes, leaves or hash blocks, which are all equal
 * to the first if REPEATED is set.
 */
static int
put (struct export *export, const void *units, size_t size, uint64_t count,
     bool repeated)
{
  size_t n = repeated ? 1 : count;

  for (; count > 0; count -= n)
    if (fwrite (units, size, n, export->out) != n)
      return write_failed (export, errno);
  return 0;
}

static int
write_tree (void *opaque, const unsigned char *block, uint64_t count,
            uint64_t index)
{
  struct export *export = opaque;
  off_t offset = (export->request->superblock + index) * BLOCK_SIZE;

  if (ftello (export->out) != offset && /* fseeko writes the buffer */
      fseeko (export->out, offset, SEEK_SET) == -1)
    write_failed (export, errno);
  else if (put (export, block, BLOCK_SIZE, count, true) == 0)
    return 0;
  return ECANCELED;             /* the reason is in export->error */
}

static int
put_superblock (struct export *export)
{
  unsigned char block[BLOCK_SIZE] = "verity\0";

  manifest_put (block + 8, 1, 4);       /* version of the superblock */
  manifest_put (block + 12, 1, 4);      /* type of the tree: not Chrome OS's */
  memcpy (block + 16, export->request->uuid, EXPORT_UUID_SIZE);
  memcpy (block + 32, export->digest_name, strlen (export->digest_name));
  manifest_put (block + 64, BLOCK_SIZE, 4); /* of data */
  manifest_put (block + 68, BLOCK_SIZE, 4); /* of the tree */
  manifest_put (block + 72, export->count, 8);
  return put (export, block, sizeof block, 1, false);
}

/* Returns the size of OUT, or UINT64_MAX if it is too large. */
static uint64_t
out_size (const struct export *export)
{
  size_t leaf_size = export->zeros.leaf_size;

  switch (export->request->form) {
  case EXPORT_VERITY:           /* cannot overflow: a 64th of the image */
    return (export->request->superblock + hash_tree_blocks (export->tree)) *
      BLOCK_SIZE;
  case EXPORT_FSVERITY:
    return DESCRIPTOR_SIZE;
  default:
    return export->count > (INT64_MAX - LENGTH_SIZE) / leaf_size ? UINT64_MAX
      : export->count * leaf_size + LENGTH_SIZE;
  }
}

/* Allocate the space, so that a lack of it is known now.  Not all file systems
 * can do that.
 */
static int
allocate (const struct export *export, uint64_t size)
{
#ifdef FALLOC_FL_KEEP_SIZE
  if (size > 0 && fallocate (export->file.fd, 0, 0, size) == -1 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    return write_failed (export, errno);
#else
  (void) export; (void) size;
#endif
  return 0;
}

static int
open_out (struct export *export)
{
  const struct export_request *request = export->request;
  uint64_t size = out_size (export);
  struct stat st;
  int fd;

  if (size > INT64_MAX)
    return write_failed (export, EFBIG);
  if (lstat (request->out, &st) == 0)
    return error_set (export->error, "%s exists, and is not replaced; give a "
                      "new name", request->out);
  if (new_file_open (&export->file, request->out, export->error) == -1) {
    export->file.fd = -1;
    return -1;
  }
  fd = fcntl (export->file.fd, F_DUPFD_CLOEXEC, 0);
  export->out = fd == -1 ? NULL : fdopen (fd, "w");
  if (!export->out) {
    write_failed (export, errno);
    if (fd != -1)
      close (fd);
    return -1;
  }
  setvbuf (export->out, export->buffer, _IOFBF, sizeof export->buffer);
  export->result->out_size = size;
  request->begin (request->opaque, size);
  if (allocate (export, size) == -1)
    return -1;
  return request->superblock ? put_superblock (export) : 0;
}

/* ---- The image, for the last block of fs-verity ---- */

static int
check_image (const struct export *export)
{
  const struct source *image = export->image;

  if (strcmp (image->format, "raw") != 0)
    return error_set (export->error, "is a %s image, and fs-verity is of the "
                      "file, not of the disk in it; only a raw image has the "
                      "content of the manifest", image->format);
  if (!image->files || image->sequential)
    return error_set (export->error, "is not a file; fs-verity is of files");
  if (image->size != export->size)
    return error_set (export->error, "has %" PRIu64 " bytes, %s %" PRIu64,
                      image->size, export->request->manifest, export->size);
  return 0;
}

/* Only a regular file is opened, because to open a FIFO can wait. */
static int
open_image (struct export *export)
{
  const struct export_request *request = export->request;
  struct stat st;
  int r;

  if (!request->image)
    return 0;
  *export->operand = request->image;
  if (stat (request->image, &st) == -1)
    return error_errno (export->error, errno, "cannot open");
  if (!S_ISREG (st.st_mode))
    return error_set (export->error, "is not a file; fs-verity is of files");
  if (source_open (&request->hash.source, request->image, &export->image,
                   export->error) == -1)
    return -1;
  r = check_image (export);
  if (r == 0)
    *export->operand = request->manifest;
  return r;
}

static int
hash (const struct export *export, const void *bytes, size_t len,
      unsigned char *md)
{
  struct digest_ctx *ctx = digest_ctx_create (export->digest);
  int err = ctx ? digest_message (ctx, bytes, len, md) : errno;

  digest_ctx_free (ctx);
  return err ? error_errno (export->error, err, "cannot hash") : 0;
}

/* Read the last LEN bytes of the image into BLOCK. */
static int
read_tail (const struct export *export, unsigned char *block, size_t len)
{
  struct scan scan;
  int r;

  scan_init_copy (&scan, BLOCK_SIZE, block, len, export->size - len);
  r = source_scan (export->image, &scan);
  error_copy (export->error, &scan.error);
  scan_destroy (&scan);
  return r == -1 ? -1 : source_check_unchanged (export->image, export->error);
}

/* Store in PADDED the digest of the last block, which is short, with padding.
 * Without it the block should have the digest LEAF; if not, the manifest is
 * verified before that is reported.  Zeros are zeros with padding, too: then an
 * image is not needed, but one that was given is compared.
 */
static int
pad (struct export *export, const unsigned char *leaf, bool is_zero,
     unsigned char *padded)
{
  unsigned char block[BLOCK_SIZE] = { 0 }, found[BLKHASH_MAX_MD_SIZE];
  size_t len = export->size % BLOCK_SIZE;

  if (!export->image && !is_zero)
    return error_set (export->error, "is of an image of %" PRIu64 " bytes, "
                      "whose last block is short; fs-verity pads it, so it "
                      "must be read: give --image FILE, the raw image",
                      export->size);
  if (export->image) {
    *export->operand = export->request->image;
    if (read_tail (export, block, len) == -1 ||
        hash (export, block, len, found) == -1)
      return -1;
    *export->operand = export->request->manifest;
    export->differs = memcmp (leaf, found, export->zeros.leaf_size) != 0;
  }
  return hash (export, block, sizeof block, padded);
}

static enum job_status
report_difference (const struct export *export)
{
  uint64_t len = export->size % BLOCK_SIZE;

  *export->operand = export->request->image;
  error_set (export->error, "%" PRIu64 " bytes at %" PRIu64 " differ from %s",
             len, export->size - len, export->request->manifest);
  return JOB_DIFFERS;
}

/* ---- Leaves ---- */

/* Add COUNT leaves, which are all equal to the first if REPEATED is set. */
static int
add (struct export *export, const unsigned char *leaves, uint64_t count,
     bool repeated)
{
  int err;

  if (!export->tree)
    return put (export, leaves, export->zeros.leaf_size, count, repeated);
  err = hash_tree_append (export->tree, leaves, count, repeated);
  return err ? error_errno (export->error, err, "cannot hash") : 0;
}

static int
add_run (struct export *export, const struct blkhash_manifest_run *run)
{
  const struct manifest_zeros *zeros = &export->zeros;
  bool is_short = run->first + run->count - 1 == zeros->short_block;
  uint64_t full = run->count - is_short;
  const unsigned char *last = run->leaves ? run->leaves + full * run->leaf_size
                                          : zeros->short_leaf;
  unsigned char padded[BLKHASH_MAX_MD_SIZE];

  if (add (export, run->leaves ? run->leaves : zeros->full_leaf, full,
           !run->leaves) == -1)
    return -1;
  if (is_short && export->request->form == EXPORT_FSVERITY) {
    if (pad (export, last, !run->leaves, padded) == -1)
      return -1;
    last = padded;
  }
  return is_short ? add (export, last, 1, false) : 0;
}

/* Read all runs, at whose end the sum is verified. */
static int
read_runs (struct export *export, struct blkhash_manifest_reader *reader)
{
  struct sum *sum = &export->result->sum;
  struct blkhash_manifest_run run;
  struct manifest_runs runs;
  const struct progress *progress =
    progress_begin (&export->request->hash.progress, export->size);
  int r = 0, err = 0;

  manifest_runs_init (&runs, reader, NULL, export->size, progress,
                      export->error);
  while (r == 0 && (err = runs.runs.next (&runs.runs, &run)) == 0)
    r = add_run (export, &run);
  if (err && err != ENOENT)
    r = -1;
  progress_end (progress, r == 0);
  if (r == 0)
    err = blkhash_manifest_reader_sum (reader, sum->md, &sum->md_len);
  assert (r == -1 || err == 0);
  return r;
}

/* ---- The end of each form ---- */

/* ROOT becomes the digest of the descriptor.  After the root are room for a
 * salt and reserved bytes.
 */
static int
finish_descriptor (struct export *export, unsigned char *root)
{
  unsigned char descriptor[DESCRIPTOR_SIZE] = {
    1,                                  /* version */
    strcmp (export->digest_name, "sha256") == 0 ? 1 : 2,
    BLOCK_SIZE_LOG,
  };

  manifest_put (descriptor + 8, export->size, 8);
  memcpy (descriptor + 16, root, export->zeros.leaf_size);
  if (export->out &&
      put (export, descriptor, sizeof descriptor, 1, false) == -1)
    return -1;
  return hash (export, descriptor, sizeof descriptor, root);
}

static int
finish_form (struct export *export)
{
  unsigned char *root = export->result->root, length[LENGTH_SIZE];
  int err = export->tree ? hash_tree_finish (export->tree, root) : 0;

  if (err)
    return error_errno (export->error, err, "cannot hash");
  if (export->request->form == EXPORT_FSVERITY)
    return finish_descriptor (export, root);
  if (export->tree)
    return 0;
  manifest_put (length, export->size, sizeof length);
  return put (export, length, sizeof length, 1, false);
}

static int
publish (struct export *export)
{
  struct sum *sum = &export->result->sum;

  sum->size = export->size;
  sum->hash = blkhash_opts_copy (export->opts);
  if (!sum->hash)
    return error_errno (export->error, errno, "cannot export");
  if (!export->out)
    return 0;
  if (fflush (export->out) == EOF)
    return write_failed (export, errno);
  return new_file_publish (&export->file, NULL, NULL, export->error);
}

/* ---- The job ---- */

static int
prepare (struct export *export)
{
  bool stored = export->request->form == EXPORT_VERITY;
  int err = manifest_zeros_init (&export->zeros, export->opts, export->size);

  if (err == 0)
    err = manifest_zeros_hash (&export->zeros);
  export->digest = err ? NULL : digest_create (export->digest_name);
  if (!export->digest)
    return error_errno (export->error, err ? err : errno, "cannot export");
  if (open_image (export) == -1)
    return -1;
  if (export->request->form != EXPORT_LEAVES) {
    export->tree = hash_tree_create (export->digest, export->count,
                                     stored ? write_tree : NULL, export);
    if (!export->tree)
      return error_errno (export->error, errno, "cannot export");
  }
  return export->request->out ? open_out (export) : 0;
}

static enum job_status
export_manifest (struct export *export, struct blkhash_manifest_reader *reader)
{
  export->opts = blkhash_manifest_reader_opts (reader);
  export->digest_name = blkhash_opts_get_digest_name (export->opts);
  export->size = blkhash_manifest_reader_size (reader);
  export->count = DIV_ROUND_UP (export->size,
                                blkhash_opts_get_block_size (export->opts));
  if (check (export, reader) == -1 || prepare (export) == -1 ||
      read_runs (export, reader) == -1)
    return JOB_FAILED;
  if (export->differs)
    return report_difference (export);
  return finish_form (export) == -1 || publish (export) == -1 ? JOB_FAILED
                                                              : JOB_DONE;
}

enum job_status
job_export (const struct export_request *request,
            struct export_result *result, const char **operand,
            struct error *error)
{
  struct export export = {
    .request = request, .result = result, .operand = operand, .error = error,
    .file.fd = -1,
  };
  double start = clock_seconds ();
  int fd = job_manifest_open (job_manifest_file (request->manifest));
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct blkhash_manifest_reader *reader;
  enum job_status r;

  *operand = request->manifest;
  *result = (struct export_result) { .sum.format = "manifest" };
  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  reader = blkhash_manifest_reader_new (fd, 0, reason, sizeof reason);
  r = reader ? export_manifest (&export, reader)
             : error_set (error, "%s", reason);
  if (export.out)
    fclose (export.out);
  if (export.file.fd != -1)
    new_file_close (&export.file);
  hash_tree_free (export.tree);
  digest_free (export.digest);
  if (export.image)
    source_close (export.image);
  blkhash_manifest_reader_free (reader);
  close (fd);
  result->sum.seconds = clock_seconds () - start;
  return r;
}

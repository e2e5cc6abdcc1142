/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs, with their requests and results.  Each job is in the file with its
 * name; job_hash and job_expect are in sum.c, job_export in manifest-export.c.
 *
 * A job returns 0, or -1 with the reason in ERROR.  A job that has a parameter
 * OPERAND sets *OPERAND to the operand that the reason is about.
 */

#ifndef BLKSUM_JOB_H
#define BLKSUM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/common/sums.h"
#include "blkhash.h"
#include "util/content-sums.h"
#include "util/error.h"
#include "util/first-bytes.h"
#include "util/progress.h"
#include "util/ranges.h"
#include "util/source-options.h"

struct check_line;
struct difference;

/* ---- Requests ---- */

/* Requests are set from the command line, and a job sees no other options.  A
 * request is small, so that a job can copy it and modify the copy.
 *
 * A request contains callbacks, which the job calls while it runs, in the
 * thread that called the job.  Only that of struct progress, and warn of struct
 * source_options, are called by any thread.
 */

/* The part that the requests of all jobs have. */
struct hash_request {
  const char *operand;          /* the image; NULL in a job with several
                                 * images */
  struct blkhash_opts *opts;    /* digest, block size, construction, threads */
  /* Set if no other value may be used, because the user set the option, or the
   * job compares with a checksum that has this value.
   */
  bool digest_fixed, block_size_fixed, construction_fixed;
  struct source_options source;
  const char *manifest;         /* file to write; "-" for stdout; or NULL */
  struct content_sums content;  /* digests of the content to compute; only for
                                 * job_hash and job_expect */
  struct progress progress;
};

/* Fix all parameters, because they are those of a checksum. */
static inline void
hash_request_fix (struct hash_request *request)
{
  request->digest_fixed = true;
  request->block_size_fixed = true;
  request->construction_fixed = true;
}

/* The request of --check, for one list. */
struct check_request {
  struct hash_request hash;     /* with the hash parameters of lines that do
                                 * not specify theirs */
  const char *list;
  struct part part;             /* if N > 0, only this part is compared, with
                                 * the manifest beside the image */
  bool ignore_missing;          /* missing files are not an error */
  bool allow_uris;              /* the list can contain URIs */

  /* Called for each line of the list, except empty lines, and comments other
   * than "# differs" and "# unknown".
   */
  void (*report) (void *opaque, const struct check_line *line);
  void *opaque;
};

/* The request of --expect. */
struct expect_request {
  struct hash_request hash;
  const char *expected;         /* expected checksum, digest of the content, or
                                 * manifest:FILE */
  struct part part;             /* if N > 0, only this part is compared;
                                 * requires a manifest */
  const struct expected_sum *manifest_sum; /* with a part: the sum that the
                                            * manifest must have, or NULL for
                                            * any */
};

/* The request of blkhash compare. */
struct compare_request {
  struct hash_request hash;     /* hash parameters of the images */
  const char *operands[2];
  const char *formats[2];       /* their formats; NULL to probe */
  uint64_t size;                /* with manifests, the number of bytes to
                                 * compare, or SOURCE_WHOLE */
  struct part part;             /* if N > 0, only this part is compared, and
                                 * different sizes are an error */
  bool same_size;               /* different sizes count as a difference, and
                                 * nothing is compared if both are known */
  bool first_only;              /* stop at the first difference */
  bool same_hash;               /* a manifest must have those of the hash
                                 * parameters that are fixed, the construction
                                 * too, although leaves do not depend on it */
  const struct expected_sum *manifest_sum; /* with a part: the sum that a
                                            * manifest must have, or NULL for
                                            * any */

  /* Called when the sizes are known, before an image is read; the size of a
   * pipe is not known then; or NULL.
   */
  void (*begin) (void *opaque, const struct difference *difference);

  /* Called for each range of LENGTH bytes at START that differs; not called
   * with FIRST_ONLY; or NULL.  If it returns an errno value, the job ends.
   */
  int (*report) (void *opaque, const struct difference *difference,
                 uint64_t start, uint64_t length);
  void *opaque;
};

/* The request of blkhash parts. */
struct parts_request {
  struct hash_request hash;     /* the manifest is that of the image */
  const char *dir;              /* directory of the plan and the parts */
  struct part part;             /* if N > 0, only this part, and no merge */
  const char *state;            /* name of the state of the image, or NULL */
  uint32_t audit;               /* share of the parts that existed to audit, in
                                 * millionths of a percent */
};

/* The request of blkhash merge. */
struct merge_request {
  struct hash_request hash;
  char **paths;                 /* a directory with a plan and all parts; or
                                 * the manifests of parts, as PATH or
                                 * manifest:PATH */
  size_t count;
  const char *plan;             /* SHA-256 of the plan that the directory must
                                 * have, in digits; or NULL */
};

/* The request of blkhash update. */
struct update_request {
  struct hash_request hash;
  const char *old;              /* the manifest of the image before the
                                 * changes */
  const char **changed;         /* files, each with a list of ranges that
                                 * changed since then, */
  size_t nr_changed;            /* and their number; if it is 0, the ranges are
                                 * those of the dirty bitmap of the source */
  uint32_t audit;               /* share of the trusted leaves to audit, in
                                 * millionths of a percent */
};

/* What blkhash export makes of a manifest. */
enum export_form {
  EXPORT_VERITY,                /* the hash device of dm-verity */
  EXPORT_FSVERITY,              /* the digest of fs-verity and its descriptor */
  EXPORT_LEAVES,                /* the leaves and the length: the message whose
                                 * digest is the sum */
  EXPORT_FORMS
};

#define EXPORT_UUID_SIZE 16
#define EXPORT_BLOCK_SIZE 4096  /* of dm-verity and fs-verity, for data too */

/* The request of blkhash export. */
struct export_request {
  struct hash_request hash;     /* how to read the image */
  enum export_form form;
  const char *manifest;         /* operand: PATH or manifest:PATH */
  const char *out;              /* file to write, which must not exist; for
                                 * EXPORT_FSVERITY the descriptor, or NULL */
  const char *image;            /* for EXPORT_FSVERITY: the raw image, of which
                                 * a short last block is read; or NULL */
  bool superblock;              /* for EXPORT_VERITY: OUT begins with one, */
  unsigned char uuid[EXPORT_UUID_SIZE]; /* and this is in it */

  /* Called before OUT is written, with its size in bytes. */
  void (*begin) (void *opaque, uint64_t size);
  void *opaque;
};

/* ---- Results, and what jobs pass to the callbacks in their requests ---- */

/* The sum of one source, and statistics about it. */
struct sum {
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned md_len;
  struct content_sums content;  /* those of the request */
  struct blkhash_opts *hash;    /* hash parameters, which the caller frees;
                                 * or NULL if they are those of the options */
  char format[32];              /* format of the source */
  uint64_t size;                /* size of the image in bytes; DATA, ZERO and
                                 * HOLE are its parts */
  uint64_t data;                /* bytes in blocks that are not all zero */
  uint64_t zero;                /* bytes read, in blocks that are all zero */
  uint64_t hole;                /* bytes known to be zero without reading */
  bool incremental;             /* only READ bytes were read; the leaves of the
                                 * rest of the image are from a manifest */
  uint64_t read;                /* bytes read from the image */
  double seconds;
  struct first_bytes first;     /* of the source */
};

/* The difference of two images.  The ranges that differ are not stored: each is
 * reported when it is found.
 */
struct difference {
  bool differ;
  uint64_t size[2];             /* sizes of the images in bytes; UINT64_MAX
                                 * for a pipe that has not ended */
  uint64_t compared_bytes;      /* the size of the part; without a part of the
                                 * larger image, or 0 if nothing was compared,
                                 * because the sizes differ */
  bool part_is_empty;           /* the part has no blocks: an error */
  uint64_t nr_ranges;           /* number of ranges found */
  uint64_t first, first_length; /* of the first range, bytes */
  uint64_t trailing[2];         /* with --size: bytes after each image;
                                 * UINT64_MAX for a pipe */
  struct first_bytes first_bytes[2]; /* of the images */
};

#define VERDICT_SIZE 128        /* "OK", "FAILED (part 1/8: ...)", "FAILED
                                 * (content-sha256)" */

/* The result of --expect. */
struct expect_result {
  bool same;
  char verdict[VERDICT_SIZE];
  char sum[SUM_TEXT_SIZE];      /* of the image, and the expected one; "" if it
                                 * is not known */
  char expected[SUM_TEXT_SIZE];
  uint64_t compared_bytes;      /* with a part */
  struct error why;             /* why the image is not the same */
  struct error hint;            /* what may be the cause of that, or "" */
  uint64_t trailing;            /* with --size: bytes after the image;
                                 * UINT64_MAX for a pipe */
  struct first_bytes first;     /* of the image */
};

/* The outcome for a line of a list of checksums. */
enum check_outcome {
  LINE_MATCH,
  LINE_MISMATCH,
  LINE_DIFFERS,                 /* nbdkit-blkhash-verify-filter found blocks
                                 * that differ from the manifest: a comment
                                 * "# differs" */
  LINE_UNREAD,                  /* the image could not be hashed */
  LINE_UNCHECKED,               /* the part of the image is empty */
  LINE_UNKNOWN,                 /* a filter had no checksum: a comment
                                 * "# unknown" */
  LINE_MISSING,                 /* the file does not exist, with
                                 * --ignore-missing */
  LINE_MALFORMED,               /* the line is neither a checksum nor a
                                 * comment */
  LINE_DAMAGED,                 /* the line is a checksum that is damaged, or
                                 * cannot be checked, for example because the
                                 * digest is unknown */
  LINE_OUTCOMES,
};

/* The result of a line of --check, after its image, if any, was hashed. */
struct check_line {
  enum check_outcome outcome;
  const char *name;             /* name of the image; NULL if the line has no
                                 * name */
  const char *verdict;          /* or NULL */
  const struct error *error;    /* or NULL */
  const struct expect_result *verified; /* NULL if the image was not hashed */
};

/* The result of --check: the number of lines of a list with each outcome. */
struct check_result {
  uint64_t lines[LINE_OUTCOMES];
  bool foreign;                 /* there are checksums of files */
  bool tagged;                  /* there is a checksum with a tag */
};

/* Set RESULT to whether SUM, that of the image of REQUEST, matches EXPECTED. */
void expect_result_set (struct expect_result *result,
                        const struct hash_request *request,
                        const struct expected_sum *expected,
                        const struct sum *sum);

/* The result of blkhash export. */
struct export_result {
  struct sum sum;               /* of the manifest: the sum, its hash
                                 * parameters, the size of the image, and the
                                 * time */
  unsigned char root[BLKHASH_MAX_MD_SIZE]; /* the root of the tree; of fs-verity
                                            * the digest of the file */
  uint64_t out_size;            /* of OUT, bytes; 0 if there is none */
};

/* What a job returns that can find a difference. */
enum job_status {
  JOB_FAILED = -1,              /* ERROR has the reason */
  JOB_DONE,
  JOB_DIFFERS,                  /* ERROR says what differs */
};

/* ---- The jobs ---- */

/* Hash the operand. */
int job_hash (const struct hash_request *request, struct sum *sum,
              struct error *error);

/* Check all images in a list.  Fails if the list could not be read to its end.
 * In any case RESULT counts the lines that were read.
 */
int job_check (const struct check_request *request,
               struct check_result *result, struct error *error);

/* Compare the image with the expected checksum.  The reason of a failure is
 * about the expected checksum if *OPERAND is NULL.
 */
int job_expect (const struct expect_request *request,
                struct expect_result *result, const char **operand,
                struct error *error);

/* Find the ranges in which two images differ.  The reason of a failure is about
 * *OPERAND, unless the callback request->report returned an error.
 */
int job_compare (const struct compare_request *request,
                 struct difference *difference, const char **operand,
                 struct error *error);

/* Hash the parts of the operand that are missing in the directory, audit the
 * others, merge all parts, and set SUM.  Of a single part SUM is not set.
 * Returns JOB_DIFFERS if an audited block differs, now or in an earlier run.
 */
enum job_status job_parts (const struct parts_request *request,
                           struct sum *sum, const char **operand,
                           struct error *error);

/* Merge the manifests of the parts into the manifest of the image, if there is
 * one in the request, and set SUM.  Returns JOB_DIFFERS if an audit of the
 * parts has failed.
 */
enum job_status job_merge (const struct merge_request *request,
                           struct sum *sum, const char **operand,
                           struct error *error);

/* Hash the changed ranges of the operand.  A sample of the blocks outside of
 * these ranges is audited.  Returns JOB_DIFFERS if audited blocks have changed;
 * their ranges were reported as warnings.
 */
enum job_status job_update (const struct update_request *request,
                            struct sum *sum, struct error *error);

/* Make another form of the manifest.  All of it was verified when the job
 * returns JOB_DONE, and OUT is complete.  Returns JOB_DIFFERS if the short last
 * block of the image does not have its leaf.  The caller frees the hash
 * parameters in RESULT after JOB_DONE.
 */
enum job_status job_export (const struct export_request *request,
                            struct export_result *result,
                            const char **operand, struct error *error);

#endif /* BLKSUM_JOB_H */

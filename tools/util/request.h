/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The requests to jobs.  They are set from the command line, and a job sees no
 * other options.  A request is small, so that a job can copy it and modify the
 * copy.
 *
 * A request contains callbacks, which the job calls while it runs, in the
 * thread that called the job.  Only that of struct progress is called by any
 * thread.
 */

#ifndef BLKSUM_REQUEST_H
#define BLKSUM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/part.h"
#include "util/progress.h"
#include "util/source-options.h"

struct blkhash_opts;
struct check_line;
struct difference;
struct error;
struct expected_sum;
struct repair_range;

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
  const char *expected;         /* expected checksum, or manifest:FILE */
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

/* The request of blkhash repair. */
struct repair_request {
  struct hash_request hash;     /* the operand is the disk to repair */
  const char *manifest;         /* a file */
  const char *expected_sum;     /* sum that the manifest must have, or
                                 * "none" for any */
  const char **sources;         /* operands */
  size_t nr_sources;
  uint32_t limit;               /* maximum number of bad blocks, in millionths
                                 * of a percent of the blocks that are data
                                 * according to the manifest */
  bool dry_run;                 /* nothing is written */

  /* Called for each range of bad blocks, after their repair, whether it
   * succeeded or not.  If it returns an errno value, the job ends.
   */
  int (*found) (void *opaque, const struct repair_range *range);
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

#endif /* BLKSUM_REQUEST_H */

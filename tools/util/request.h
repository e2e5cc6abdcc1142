/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is asked for: the command line sets it, and jobs see nothing else of the
 * options.  A request is small, so that a job can copy it and change the copy.
 */

#ifndef BLKSUM_REQUEST_H
#define BLKSUM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "util/source-options.h"
#include "util/subset.h"

struct blkhash_opts;

struct progress_form {
  int fd;                       /* -1: no progress */
  bool bar;                     /* else lines N/100, as nbdcopy prints */
  const char *name;             /* what is shown with the bar, or NULL */
};

/* Of any job. */
struct hash_request {
  struct blkhash_opts *opts;    /* digest, block size, construction, threads */
  bool digest_chosen, block_size_chosen, construction_chosen; /* by the user */
  struct source_options source;
  const char *manifest;         /* file to be written, "-": stdout; or NULL */
  struct progress_form progress;
};

/* Did the user say how sums are made?  Else it may follow from something else,
 * such as a manifest.
 */
static inline bool
hash_request_is_chosen (const struct hash_request *request)
{
  return request->digest_chosen || request->block_size_chosen ||
    request->construction_chosen;
}

/* What --check prints and says, beside errors. */
enum check_report {
  CHECK_ALL,
  CHECK_QUIET,                  /* nothing of images that are right */
  CHECK_STATUS,                 /* nothing */
  CHECK_WARN,                   /* all, and lines that are malformed */
};

/* Of --check; the first three of --compare, and two of them of --expect. */
struct verify_request {
  struct subset subset;         /* n > 0: no more of an image is read */
  enum check_report report;     /* of the others: CHECK_QUIET or not */
  bool strict;                  /* malformed lines make it fail; or sizes */
  bool ignore_missing;          /* files */
  bool allow_uris;              /* in lists */
};

/* Of --expect. */
struct expect_request {
  struct hash_request hash;
  const char *operand;
  const char *expected;         /* its checksum, or manifest:FILE */
  struct subset subset;         /* n > 0: no more is compared, by a manifest */
  bool quiet;                   /* only errors are printed */
};

/* Of two images. */
struct compare_request {
  struct hash_request hash;     /* of the images */
  const char *operands[2];
  uint64_t size;                /* of what is in manifests: bytes that are
                                 * compared, or SOURCE_WHOLE */
  struct subset subset;         /* n > 0: no more is compared */
  bool same_size;               /* other sizes are a difference */
  bool first_only;              /* one difference is enough */
};

/* Of --update and --resume. */
struct incremental_request {
  const char *old;              /* --update: the manifest of what it was */
  const char *changed;          /* where it has changed since: a file; NULL: the
                                 * bitmap of the source says it */
  bool assume_unchanged;        /* --resume: what nobody can tell has not */
  uint32_t audit;               /* how much of what a manifest says is read, in
                                 * millionths of a percent */
};

#endif /* BLKSUM_REQUEST_H */

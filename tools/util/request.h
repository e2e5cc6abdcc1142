/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The requests to jobs.  The command line sets them, and a job uses no other
 * option.  A request is small, so that a job can copy it and modify the copy.
 */

#ifndef BLKSUM_REQUEST_H
#define BLKSUM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "util/progress.h"
#include "util/source-options.h"
#include "util/subset.h"

struct blkhash_opts;

/* Of any job. */
struct hash_request {
  struct blkhash_opts *opts;    /* digest, block size, construction, threads */
  bool digest_chosen, block_size_chosen, construction_chosen; /* by the user */
  struct source_options source;
  const char *manifest;         /* file to write, "-": stdout; or NULL */
  struct progress_form progress;
};

/* Did the user choose the hash?  Otherwise it can be taken from elsewhere, such
 * as a manifest.
 */
static inline bool
hash_request_is_chosen (const struct hash_request *request)
{
  return request->digest_chosen || request->block_size_chosen ||
    request->construction_chosen;
}

/* What --check prints, beside errors. */
enum check_report {
  CHECK_ALL,
  CHECK_QUIET,                  /* nothing for images that match */
  CHECK_STATUS,                 /* nothing */
  CHECK_WARN,                   /* all, and malformed lines */
};

/* Of --check.  --compare uses the first three fields, --expect the first two.
 */
struct verify_request {
  struct subset subset;         /* n > 0: only this subset is read */
  enum check_report report;     /* other jobs: CHECK_QUIET or not */
  bool strict;                  /* fail on malformed lines, or other sizes */
  bool ignore_missing;          /* missing files are no error */
  bool allow_uris;              /* lists can contain URIs */
};

/* Of --expect. */
struct expect_request {
  struct hash_request hash;
  const char *operand;
  const char *expected;         /* its checksum, or manifest:FILE */
  struct subset subset;         /* n > 0: only this subset is compared, with a
                                 * manifest */
  bool quiet;                   /* only errors are printed */
};

/* Of --compare. */
struct compare_request {
  struct hash_request hash;     /* of the images */
  const char *operands[2];
  uint64_t size;                /* of the images of manifests: bytes to compare,
                                 * or SOURCE_WHOLE */
  struct subset subset;         /* n > 0: only this subset is compared */
  bool same_size;               /* different sizes are a difference */
  bool first_only;              /* stop at the first difference */
};

/* Of --update and --resume. */
struct incremental_request {
  const char *old;              /* --update: the manifest of the image before
                                 * the changes */
  const char *changed;          /* file with the ranges that changed since;
                                 * NULL: use the dirty bitmap of the source */
  bool assume_unchanged;        /* --resume: trust a source that cannot detect
                                 * changes */
  uint32_t audit;               /* share of the trusted leaves to audit, in
                                 * millionths of a percent */
};

#endif /* BLKSUM_REQUEST_H */

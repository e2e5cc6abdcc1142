/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The requests to jobs.  The command line sets them, and a job uses no other
 * option.  A request is small, so that a job can copy it and modify the copy.
 *
 * A request has the functions that the job calls while it runs, in the thread
 * that called the job, except those of progress.
 */

#ifndef BLKSUM_REQUEST_H
#define BLKSUM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/part.h"
#include "util/progress.h"
#include "util/source-options.h"
#include "util/subset.h"

struct blkhash_opts;
struct check_line;
struct difference;
struct error;
struct expect_result;

/* Of any job. */
struct hash_request {
  const char *operand;          /* of which image; of a job with several NULL */
  struct blkhash_opts *opts;    /* digest, block size, construction, threads */
  bool digest_chosen, block_size_chosen, construction_chosen; /* by the user */
  struct source_options source;
  const char *manifest;         /* file to write, "-": stdout; or NULL */
  struct progress_form progress;

  /* Print ERROR, about NAME: the job goes on. */
  void (*warn) (const char *name, const struct error *error);
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

/* Of --check, of one list. */
struct check_request {
  struct hash_request hash;     /* what lines do not specify */
  const char *list;
  struct subset subset;         /* n > 0: only this subset is read */
  bool ignore_missing;          /* missing files are no error */
  bool allow_uris;              /* the list can contain URIs */

  void (*found) (void *opaque, const struct check_line *line);
  void *opaque;
};

/* Of --expect. */
struct expect_request {
  struct hash_request hash;
  const char *expected;         /* its checksum, or manifest:FILE */
  struct subset subset;         /* n > 0: only this subset is compared, with a
                                 * manifest */

  /* Called when the image was hashed.  Trailing data is read after that, or not
   * at all if this is NULL.
   */
  void (*found) (const char *name, const struct expect_result *result);
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

  /* LENGTH bytes at START differ; or NULL.  An errno value ends the job. */
  int (*found) (void *opaque, const struct difference *difference,
                uint64_t start, uint64_t length);
  void *opaque;
};

/* Of --part. */
struct part_request {
  struct hash_request hash;
  struct part part;
  const char *dir;              /* where its manifest is */
};

/* Of --merge. */
struct merge_request {
  struct hash_request hash;
  char **paths;                 /* of the manifests of parts */
  size_t count;
};

/* Of --update and --resume. */
struct incremental_request {
  struct hash_request hash;
  const char *old;              /* --update: the manifest of the image before
                                 * the changes */
  const char *changed;          /* file with the ranges that changed since;
                                 * NULL: use the dirty bitmap of the source */
  bool assume_unchanged;        /* --resume: trust a source that cannot detect
                                 * changes */
  uint32_t audit;               /* share of the trusted leaves to audit, in
                                 * millionths of a percent */

  void (*resumable) (bool now); /* --resume: an interrupted job can be continued
                                 */
};

#endif /* BLKSUM_REQUEST_H */

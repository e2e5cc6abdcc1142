/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of blksum.
 */

#ifndef BLKSUM_OPTIONS_H
#define BLKSUM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/progress.h"
#include "util/part.h"
#include "util/request.h"

enum output_form {
  OUTPUT_PLAIN,                 /* HEX  NAME */
  OUTPUT_TAG,                   /* blk-sha256/64k (NAME) = HEX */
  OUTPUT_JSON,                  /* an object a line */
};

/* What --check prints, in addition to errors. */
enum check_report {
  CHECK_ALL,
  CHECK_QUIET,                  /* nothing for images that match */
  CHECK_STATUS,                 /* nothing */
  CHECK_WARN,                   /* all, and lines that are malformed */
};

/* Of --check; the first three of --compare, and two of them of --expect. */
struct verify_options {
  struct subset subset;         /* n > 0: no more of an image is read */
  enum check_report report;     /* of the others: CHECK_QUIET or not */
  bool strict;                  /* malformed lines make it fail; or sizes */
  bool ignore_missing;          /* files */
  bool allow_uris;              /* in lists */
};

struct options {
  struct hash_request hash;     /* of each operand, which is not set here */
  uint32_t digest_block_size;   /* from --digest; 0: not given */

  /* What is done with the operands: print their sums, or: */
  bool check;                   /* they are lists of sums; or */
  const char *expect;           /* the sum of the only one is this; or */
  bool compare;                 /* where do the two differ; or */
  struct part part;             /* make the manifest of this part of it, if */
  const char *manifest_dir;     /* part.n > 0, in this directory; or */
  bool merge;                   /* they are parts of an image: merge them; or */
  bool resume;                  /* go on with that of the only one; or make it
                                 * of an old one, if incremental.old is set */
  struct verify_options verify;
  struct incremental_request incremental; /* but for its hash */

  /* Output. */
  enum output_form form;
  bool zero_terminated, names;
  struct progress_target progress;

  int argc;                     /* the command line */
  char **argv;
  char **operands;              /* at least one */
  int nr_operands;
};

#endif /* BLKSUM_OPTIONS_H */

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
  OUTPUT_JSON,                  /* one JSON object on a line */
  OUTPUT_MAPFILE,               /* --compare: a mapfile of GNU ddrescue */
};

/* The results that --check prints, in addition to errors. */
enum check_report {
  CHECK_ALL,
  CHECK_QUIET,                  /* all except OK */
  CHECK_STATUS,                 /* none */
  CHECK_WARN,                   /* all, and malformed lines */
};

/* The options of --check.  --compare and --expect also use REPORT, and
 * --compare uses STRICT.
 */
struct verify_options {
  enum check_report report;     /* --compare, --expect: CHECK_ALL or
                                 * CHECK_QUIET */
  bool strict;                  /* --check: malformed lines are an error;
                                 * --compare: different sizes are a
                                 * difference */
  bool ignore_missing;          /* missing files are not an error */
  bool allow_uris;              /* lists can contain URIs */
};

struct options {
  struct hash_request hash;     /* for each operand; hash.operand is not set */
  uint32_t digest_block_size;   /* the block size in --digest, or 0 */

  /* The job.  If none of these is set, print the sums of the operands. */
  bool check;                   /* verify the operands, which are lists */
  const char *expect;           /* compare the operand with this sum */
  bool compare;                 /* compare the two operands */
  const char *manifest_dir;     /* write the manifest of a part to this
                                 * directory */
  bool merge;                   /* merge the operands, which are manifests of
                                 * parts */
  struct part part;             /* if part.n > 0, only this part is read */
  struct verify_options verify;
  struct update_request update; /* its hash is not set; if old is set, update
                                 * this manifest */
  struct repair_request repair; /* its hash is not set; if nr_sources > 0, the
                                 * operand is repaired */

  /* Output. */
  enum output_form form;
  bool form_chosen;             /* --output was used */
  bool zero_terminated, names;
  struct progress_target progress;

  char **operands;              /* at least one */
  int nr_operands;
};

#endif /* BLKSUM_OPTIONS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of blksum.
 */

#ifndef BLKSUM_OPTIONS_H
#define BLKSUM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/part.h"
#include "util/source-options.h"
#include "util/subset.h"

struct blkhash_opts;

enum output_form {
  OUTPUT_PLAIN,                 /* HEX  NAME */
  OUTPUT_TAG,                   /* blk-sha256/64k (NAME) = HEX */
  OUTPUT_JSON,                  /* an object a line */
};

/* What --check prints and says, beside errors. */
enum check_report {
  CHECK_ALL,
  CHECK_QUIET,                  /* nothing of images that are right */
  CHECK_STATUS,                 /* nothing */
  CHECK_WARN,                   /* all, and lines that are malformed */
};

struct options {
  /* Digest, block size, construction, threads. */
  struct blkhash_opts *hash;
  uint32_t digest_block_size;   /* --digest says it; 0: it does not */
  bool digest_chosen, block_size_chosen, construction_chosen; /* by the user */

  /* What is done with the operands: print their sums, or: */
  const char *expect;           /* the sum of the only one is this; or */
  bool compare;                 /* where do the two differ; or */
  struct part part;             /* make the manifest of this part of it, if */
  const char *manifest_dir;     /* part.n > 0, in this directory; or */
  bool merge;                   /* they are parts of an image: merge them; or */
  bool resume;                  /* go on with that of the only one; or */
  const char *update;           /* make it of this manifest of what it was */
  const char *changed;          /* where it has changed since: a file; NULL:
                                 * source.bitmap says it */
  bool assume_unchanged;        /* what nobody can tell has not changed */
  uint32_t audit;               /* how much of what a manifest says is read, in
                                 * millionths of a percent; or */
  bool check;                   /* they are lists of sums; with these: */
  struct subset subset;         /* of the others too: no more of an image */
  enum check_report check_report; /* of the others: CHECK_QUIET or not */
  bool strict;                  /* malformed lines make it fail; or sizes */
  bool ignore_missing;          /* files */
  bool allow_uris;              /* in lists */

  /* Output. */
  enum output_form form;
  bool zero_terminated, names;
  const char *manifest;         /* file to be written, "-": stdout; or NULL */
  int progress_fd;              /* -1: no progress */
  bool progress_bar;            /* else lines */
  const char *progress_name;    /* what is shown with the bar, or NULL */

  struct source_options source;

  int argc;                     /* the command line */
  char **argv;
  char **operands;              /* at least one */
  int nr_operands;
};

/* Parse the command line; what needs no operand (--help) is done here and
 * exits, and so do errors, with status 2.
 */
void options_parse (struct options *options, int argc, char *argv[]);
void options_free (struct options *options);

/* Did the user say how sums are made?  Else it may follow from something else,
 * such as a manifest.
 */
static inline bool
options_hash_is_chosen (const struct options *options)
{
  return options->digest_chosen || options->block_size_chosen ||
    options->construction_chosen;
}

#endif /* BLKSUM_OPTIONS_H */

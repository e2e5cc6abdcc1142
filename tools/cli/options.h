/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of blksum.
 */

#ifndef BLKSUM_OPTIONS_H
#define BLKSUM_OPTIONS_H

#include <stdbool.h>

#include "util/source-options.h"

struct blkhash_opts;

enum output_form {
  OUTPUT_PLAIN,                 /* HEX  NAME */
  OUTPUT_TAG,                   /* blk-sha256/64k (NAME) = HEX */
  OUTPUT_JSON,                  /* an object a line */
};

struct options {
  struct blkhash_opts *hash;    /* digest, block size, construction, threads */
  bool hash_by_default;         /* nobody chose it, but for the threads */

  /* Output. */
  enum output_form form;
  bool zero_terminated, names;
  bool compare;                 /* the two operands; with these: */
  bool strict;                  /* sizes that differ are a difference */
  bool quiet;                   /* print nothing, stop at the first */
  const char *manifest;         /* file to be written, "-": stdout; or NULL */
  int progress_fd;              /* -1: no progress */
  bool progress_bar;            /* else lines */
  const char *progress_name;    /* what is shown with the bar, or NULL */

  struct source_options source;

  char **operands;              /* at least one */
  int nr_operands;
};

/* Parse the command line; what needs no operand (--help) is done here and
 * exits, and so do errors, with status 2.
 */
void options_parse (struct options *options, int argc, char *argv[]);
void options_free (struct options *options);

#endif /* BLKSUM_OPTIONS_H */

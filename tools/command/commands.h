/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The commands of blkhash, each in a file cmd-NAME.c; and the command line of
 * blksum, whose modes are in cmd-sum.c, cmd-check.c and cmd-expect.c.
 */

#ifndef BLKSUM_COMMANDS_H
#define BLKSUM_COMMANDS_H

#include <stdbool.h>

#include "cli/input-options.h"

extern const struct command cmd_compare, cmd_merge, cmd_parts, cmd_repair,
  cmd_update;

/* ---- blksum ---- */

/* The modes of the rows. */
#define MODE_SUM 1u
#define MODE_CHECK 2u
#define MODE_EXPECT 4u

/* The verdicts that --check and --expect print, in addition to errors. */
enum verdict_report {
  REPORT_ALL,
  REPORT_QUIET,                 /* all except OK */
  REPORT_STATUS,                /* none */
  REPORT_WARN,                  /* all, and malformed lines */
};

struct blksum_options {
  struct input_options input;
  char **operands;              /* at least one */
  int nr_operands;

  /* --check and --expect.  Without either, print the sums of the operands. */
  bool check;                   /* the operands are lists */
  const char *expect;           /* the sum that the operand must have */
  unsigned report;              /* enum verdict_report; as in sha256sum, the
                                 * last option counts */

  /* --check */
  bool strict;                  /* malformed lines are an error */
  bool ignore_missing;          /* missing files are not an error */
  bool allow_uris;              /* lists can contain URIs */
};

extern const struct option_row sum_rows[], check_rows[];

/* Each returns the exit status. */
int cmd_sum (const struct blksum_options *options);
int cmd_check (const struct blksum_options *options);
int cmd_expect (const struct blksum_options *options);

#endif /* BLKSUM_COMMANDS_H */

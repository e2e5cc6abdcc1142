/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the checksum of disk images, or check it.
 */

#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "command/commands.h"

static const char usage[] =
"Usage: blksum [OPTION]... [FILE|URI|-]...\n"
"       blksum --check [OPTION]... [LIST|-]...\n"
"       blksum --expect SUM|manifest:FILE [OPTION]... [FILE|URI|-]\n"
"Print or check sums of the content of disk images.  The sum is the same\n"
"for raw, qcow2 or an NBD export of one disk.  Default operand: -, stdin.\n";

static const char help_end[] =
"SIZE: 512, 64k, 10G, 1TiB.  Exit status: 0 yes, 1 differs, 2 unknown.\n";

static const struct option_group groups[] = {
  { NULL, sum_rows },
  { "Check", check_rows },
  INPUT_GROUPS,
};

static int
run (void *opaque, int nr_operands, char *operands[])
{
  static char *standard_input[] = { (char *) "-", NULL };
  struct blksum_options *options = opaque;

  if (nr_operands > 1 && options->input.hash.manifest)
    usage_error ("--manifest is for one image");
  if (nr_operands > 1 && options->expect)
    usage_error ("--expect is for one image");
  options->operands = nr_operands > 0 ? operands : standard_input;
  options->nr_operands = nr_operands > 0 ? nr_operands : 1;
  return options->check ? cmd_check (options)
    : options->expect ? cmd_expect (options) : cmd_sum (options);
}

static const struct command blksum = {
  .usage = usage,
  .help_end = help_end,
  .groups = groups,
  .default_mode = MODE_SUM,
  .file_modes = MODE_CHECK,
  .options_size = sizeof (struct blksum_options),
  .max_operands = INT_MAX,
  .run = run,
};

int
main (int argc, char *argv[])
{
  program_start ("blksum");
  /* The words after "--complete", which is not an option, are the unfinished
   * command line.
   */
  if (argc > 1 && strcmp (argv[1], "--complete") == 0) {
    complete_print (&blksum, argc - 2, argv + 2);
    program_flush ();
    return EXIT_SUCCESS;
  }
  return input_run (&blksum, argc, argv);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the checksum of disk images, or check it.
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"

int
main (int argc, char *argv[])
{
  program_start ("blksum");
  /* The words after "--complete", which is not an option, are the unfinished
   * command line.
   */
  if (argc > 1 && strcmp (argv[1], "--complete") == 0) {
    complete_print (&cmd_blksum, argc - 2, argv + 2);
    program_flush ();
    return EXIT_SUCCESS;
  }
  return input_run (&cmd_blksum, argc, argv);
}

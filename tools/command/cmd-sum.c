/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the sums of images.
 */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"
#include "job/job.h"
#include "job/job.h"

#define MAX_READ_SIZE (32 * 1024 * 1024) /* all NBD servers accept requests of
                                          * this size, unless they announce
                                          * another limit: see nbd/read.c */

#define FIELD(name) OPTION_FIELD (struct blksum_options, name)

const struct option_row sum_rows[] = {
  DIGEST_ROW ("DIGEST[/SIZE[/sN|/linear]]; default sha256/64k"),
  { 'l', "list-digests", NULL, "list the digests and exit",
    .print = input_print_digests },
  { 0, "manifest", "FILE",
    "write the digests of all blocks; - is stdout",
    FIELD (input.hash.manifest), .modes = MODE_SUM },
  { 0, "tag", NULL, "print blk-SPEC (NAME) = HEX",
    FIELD (input.output.tag), .value = true, .modes = MODE_SUM },
  { 0, "no-names", NULL, "print no names",
    FIELD (input.output.no_names), .value = true, .modes = MODE_SUM },
  { 'z', "zero", NULL, "end lines with NUL, and escape no names",
    FIELD (input.output.zero), .value = true, .modes = MODE_SUM },
  OUTPUT_ROW,

  /* For compatibility. */
  { 'b', "block-size", "SIZE", NULL, OPTION_SIZE (0, UINT32_MAX),
    .set = input_set_block_size },
  { 0, "queue-depth", "N", NULL, OPTION_NUMBER (1, 1024),
    FIELD (input.hash.source.queue_depth) },
  { 0, "read-size", "SIZE", NULL, OPTION_SIZE (512, MAX_READ_SIZE),
    FIELD (input.hash.source.read_size) },
  { .name = NULL },
};

int
cmd_sum (const struct blksum_options *options)
{
  struct hash_request request = options->input.hash;
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < options->nr_operands; i++) {
    const char *name = options->operands[i];
    struct error error = { "" };
    struct sum sum;
    int r;

    request.operand = name;
    if (options->nr_operands > 1)
      request.progress.name = name;
    r = job_hash (&request, &sum, &error);
    if (output_outcome (&options->input.output, &request, name, &sum, r, name,
                        &error) != EXIT_SUCCESS)
      status = EXIT_TROUBLE;
  }
  return status;
}

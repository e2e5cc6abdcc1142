/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of all commands that read images, and functions that store
 * options which a row cannot describe with a type and a field.  Errors end the
 * program: see program.h.
 */

#ifndef BLKSUM_INPUT_OPTIONS_H
#define BLKSUM_INPUT_OPTIONS_H

#include <limits.h>
#include <stdint.h>

#include "cli/command-line.h"
#include "cli/output.h"
#include "cli/progress-bar.h"
#include "job/job.h"
#include "util/ranges.h"

/* The first member of the options of such a command, so that a pointer to these
 * is also one to this.
 */
struct input_options {
  struct hash_request hash;     /* for each operand; hash.operand is not set */
  struct part part;             /* if part.n > 0, only this part is read */
  uint32_t digest_block_size;   /* the block size in --digest, or 0 */
  struct progress_target progress;
  struct output_options output; /* a command of blkhash always prints tags */
};

/* The group "Input" of --help; --format, its first row, is another table. */
extern const struct option_row format_rows[], input_rows[];

#define INPUT_GROUPS \
  { "Input", format_rows }, { NULL, input_rows }, { "", standard_rows }, \
  { NULL, NULL }
#define DIGEST_ROW(text) \
  { 'd', "digest", "SPEC", text, .set = input_set_digest }
#define PART_ROW(text) \
  { 0, "part", "I/N", text, .set = input_set_part }
#define OUTPUT_ROW \
  { 0, "output", "FORM", "human or json", .words = "human json", \
    OPTION_FIELD (struct input_options, output.form) }
#define PROGRESS_ROW \
  { 'p', "progress", "[=FD]", "show progress, or write lines N/100 to FD", \
    OPTION_NUMBER (0, INT_MAX), .set = input_set_progress }

typedef void option_set_function (void *options, const struct option_use *use);

/* OPTIONS is a struct input_options. */
option_set_function input_set_digest,
  input_set_block_size,
  input_set_part,
  input_set_progress;

/* Print the digests on stdout, for --list-digests and completions. */
void input_print_digests (const struct command *command);

/* Append the argument of USE, an option that can be repeated, to *LIST, which
 * the caller frees.
 */
void input_append (const char ***list, size_t *count,
                   const struct option_use *use);

/* Check that FORMAT, if it is not NULL, is the name of a format. */
void input_check_format (const char *format);

/* Run COMMAND with the command line ARGV.  Its options, of options_size bytes,
 * begin with a struct input_options.  Returns what the function run of COMMAND
 * returns, the exit status.
 */
int input_run (const struct command *command, int argc, char *argv[]);

#endif /* BLKSUM_INPUT_OPTIONS_H */

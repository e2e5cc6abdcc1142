/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions that store options which the table of options cannot describe with
 * a type and a field.  The table has pointers to these functions, and the
 * parser calls them: see command-line.h.  Errors end the program: see usage.h.
 */

#ifndef BLKSUM_OPTION_SET_H
#define BLKSUM_OPTION_SET_H

struct option_use;
struct options;

typedef void option_set_function (struct options *options,
                                  const struct option_use *use);

option_set_function option_set_digest,
  option_set_block_size,
  option_set_size,
  option_set_part,
  option_set_audit,
  option_add_repair_source,
  option_set_repair_limit,
  option_set_threads,
  option_set_cache,
  option_set_progress,
  option_set_output;

/* Check that FORMAT is the name of a format. */
void option_check_format (const char *format);

/* Called after all options were parsed: combine --digest and --block-size,
 * which can have any order.
 */
void option_resolve_block_size (struct options *options);

#endif /* BLKSUM_OPTION_SET_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse a command line by a table of options.  Each option is described only by
 * its row: the parser does not depend on the options of blksum.
 */

#ifndef BLKSUM_COMMAND_LINE_H
#define BLKSUM_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;

/* How an option was used, the last time. */
struct option_use {
  const struct option_row *row; /* NULL: it was not */
  char *arg;                    /* or NULL */
  uint64_t number;              /* the same, if its row has a max */
  bool by_letter;
};

enum field_type { FIELD_BOOL, FIELD_STRING, FIELD_UNSIGNED, FIELD_LONG };

struct option_row {
  int group;                    /* --help has a line between two */
  char letter;                  /* 0: none */
  const char *name;             /* without "--"; NULL: the end of the table */
  const char *arg;              /* NULL: takes none; "[=FD]": the name can go
                                 * without, and the letter takes none */
  const char *help;

  uint64_t min, max;            /* max > 0: the argument is a number */
  bool is_size;                 /* with a suffix */
  const char *words;            /* what the argument can be, if these few:
                                 * "human json"; or NULL */
  bool repeats;                 /* more than one has an effect */

  /* What is done: print, and exit; or set; or store the argument, or VALUE
   * if it takes none, in a field of struct options.
   */
  void (*print) (void);
  void (*set) (struct options *options, const struct option_use *use);
  size_t field;
  enum field_type type;
  int value;

  /* Where it is allowed: texts that name other options as users write them.
   * With one of those in NEEDS, as in "--a or --b", and with none of those in
   * EXCLUDES, which is the message, and has a %s for the argument.
   */
  const char *needs, *excludes;
  void (*check) (const char *arg); /* the last check of all, or NULL */
};

/* Parse the options in ARGV into OPTIONS, and check that they can be combined.
 * Returns the index of the first operand.  Exits after an error, and after an
 * option that prints.
 */
int command_line_parse (const struct option_row *rows, struct options *options,
                        int argc, char *argv[]);

/* Returns true if an option that TEXT names, other than ROW, is used.  USES has
 * USAGE_MAX_OPTIONS elements.
 */
bool command_line_uses (const struct option_use *uses, const char *text,
                        const struct option_row *row);

/* Print the options for --help. */
void command_line_print (const struct option_row *rows);

#endif /* BLKSUM_COMMAND_LINE_H */

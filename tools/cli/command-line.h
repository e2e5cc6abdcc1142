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

/* A use of an option.  The parser keeps the last use of each option. */
struct option_use {
  const struct option_row *row; /* NULL if the option was not used */
  char *arg;                    /* the argument, or NULL */
  uint64_t number;              /* the argument as a number, if row->max is
                                 * not 0 */
  bool by_letter;               /* the short option was used */
};

enum field_type { FIELD_BOOL, FIELD_STRING, FIELD_UNSIGNED, FIELD_LONG };

struct option_row {
  int group;                    /* groups are separated by empty lines in
                                 * --help */
  char letter;                  /* the short option, or 0 */
  const char *name;             /* without "--"; NULL ends the table */
  const char *arg;              /* the argument in --help, or NULL if there is
                                 * none; an argument in brackets, like "[=FD]",
                                 * is optional after the name, and not permitted
                                 * after the letter */
  const char *help;

  uint64_t min, max;            /* if max > 0, the argument is a number */
  bool is_size;                 /* the number can have a unit */
  const char *words;            /* the valid arguments, such as "human json"; or
                                 * NULL.  For completion and for messages: only
                                 * SET checks the argument */
  bool repeats;                 /* each use has an effect, not only the last */

  /* The action.  If PRINT is set, call it and exit.  Otherwise, if SET is set,
   * call it.  Otherwise store the argument, or VALUE if there is no argument,
   * in the member of struct options at the offset FIELD.
   */
  void (*print) (void);
  void (*set) (struct options *options, const struct option_use *use);
  size_t field;
  enum field_type type;
  int value;

  /* Combinations with other options, or NULL.  NEEDS names options, such as
   * "--a or --b", one of which is required; the error message ends with it.
   * EXCLUDES is the whole error message; this option cannot be used together
   * with any other that the message names.
   */
  const char *needs, *excludes;
};

/* Parse the options in ARGV into OPTIONS, and check that they can be combined.
 * Returns the index of the first operand.  Exits after an error, and after an
 * option that prints.
 */
int command_line_parse (const struct option_row *rows, struct options *options,
                        int argc, char *argv[]);

/* Returns true if an option that TEXT names, other than ROW, is used.  USES has
 * USAGE_MAX_OPTIONS elements (see usage.h).
 */
bool command_line_uses (const struct option_use *uses, const char *text,
                        const struct option_row *row);

/* Print the options for --help. */
void command_line_print (const struct option_row *rows);

#endif /* BLKSUM_COMMAND_LINE_H */

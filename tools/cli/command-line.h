/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse a command line by tables of options.  Each option is described only by
 * its row, from which the parser, --help and the completions are made.
 */

#ifndef BLKSUM_COMMAND_LINE_H
#define BLKSUM_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_OPTIONS 50          /* of a command */

struct command;

/* A use of an option.  The parser keeps the last use of each option. */
struct option_use {
  const struct option_row *row;
  char *arg;                    /* the argument, or NULL */
  uint64_t number;              /* the argument as a number, for the field */
  bool by_letter;               /* the short option was used */
};

enum field_type {
  FIELD_BOOL, FIELD_STRING, FIELD_UNSIGNED, FIELD_LONG
};

struct option_row {
  char letter;                  /* the short option, or 0 */
  const char *name;             /* without "--"; NULL ends the table */
  const char *arg;              /* the argument in --help, or NULL if there is
                                 * none; an argument in brackets, like "[=FD]",
                                 * is optional after the name, and not permitted
                                 * after the letter */
  const char *help;             /* its lines; NULL for an option that is only
                                 * accepted for compatibility */

  uint64_t min, max;            /* if max > 0, the argument is a number */
  bool is_size;                 /* the number can have a unit */
  bool is_share;                /* the argument is "N%"; the field gets
                                 * millionths of a percent */
  const char *words;            /* the valid arguments, such as "human json", or
                                 * NULL; the field gets the index */
  bool repeats;                 /* each use has an effect, not only the last */

  /* If a command has modes, each is a bit.  An option that selects a mode has
   * its bit in SELECTS.  MODES are those in which the option is permitted, 0
   * means all.
   */
  unsigned selects, modes;

  /* The action.  If PRINT is set, call it and exit.  Otherwise, if SET is set,
   * call it with the options of the command.  Otherwise store the argument, or
   * VALUE if there is no argument, in the member of these options at the offset
   * FIELD.
   */
  void (*print) (const struct command *command);
  void (*set) (void *options, const struct option_use *use);
  size_t field;
  enum field_type type;
  int value;
};

/* Initializers of a row. */
#define OPTION_NUMBER(lowest, highest) .min = lowest, .max = highest
#define OPTION_SIZE(lowest, highest) \
  OPTION_NUMBER (lowest, highest), .is_size = true
#define OPTION_FIELD(struct_type, name) \
  .field = offsetof (struct_type, name), \
  .type = _Generic (((struct_type *) NULL)->name, \
                    bool: FIELD_BOOL, const char *: FIELD_STRING, \
                    unsigned: FIELD_UNSIGNED, unsigned long: FIELD_LONG)

/* A list of rows, which commands can share. */
struct option_group {
  const char *title;            /* in --help; "" is an empty line, and NULL
                                 * continues the group before */
  const struct option_row *rows; /* NULL after the last group */
};

/* A program without commands, or a command of blkhash. */
struct command {
  const char *name;             /* of a command of blkhash, or NULL */
  const char *summary;          /* in the list of commands */
  const char *usage;            /* --help before the options, and after them, */
  const char *help_end;         /* which is NULL if there is nothing */
  const struct option_group *groups;
  unsigned default_mode;        /* the mode if no option selects one */
  unsigned file_modes;          /* modes in which no operand is manifest:FILE,
                                 * for completion */

  /* See input_run in input-options.h. */
  size_t options_size;
  const void *defaults;         /* of these options, or NULL: zeros */
  int min_operands, max_operands;
  const char *operands;         /* the error if there are fewer or more */
  int (*run) (void *options, int nr_operands, char *operands[]);
};

/* The rows of --help and --version. */
extern const struct option_row standard_rows[];

/* Parse the options of COMMAND in ARGV into OPTIONS, and check that they are
 * permitted together.  Returns the index of the first operand.  Exits after an
 * error, and after an option that prints.  From this call on, COMMAND is that
 * of usage errors.
 */
int command_line_parse (const struct command *command, void *options, int argc,
                        char *argv[]);

/* The rows of a command in one list. */
struct option_list {
  const struct option_row *rows[MAX_OPTIONS];
  size_t count;
};

void command_line_list (const struct command *command,
                        struct option_list *list);

/* Returns the modes of COMMAND in which ROW is permitted. */
unsigned command_line_modes (const struct option_row *row);

/* ---- Completion, in complete.c ---- */

/* Print the completions of the last of the NR_WORDS WORDS, which ends at the
 * cursor.  WORDS begin after the name of the command.  The first line is KIND,
 * a tab, and the beginning of the last word that the completions do not
 * replace, such as "--manifest=" of "--manifest=di".  KIND is the type of the
 * completions:
 *
 *   words         the words in the following lines
 *   files         files, and the words in the following lines
 *
 * In the line of an option, a tab and the help of the option follow the word.
 * Some of the printed words do not begin with the text that they would replace:
 * the shell must omit these.  It must not append a space to a word that ends
 * with "=" or ":".
 */
void complete_print (const struct command *command, int nr_words,
                     char *const words[]);

#endif /* BLKSUM_COMMAND_LINE_H */

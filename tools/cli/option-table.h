/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of options: all that the command line, its messages and --help
 * know of an option is its row.
 */

#ifndef BLKSUM_OPTION_TABLE_H
#define BLKSUM_OPTION_TABLE_H

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

/* The parts of --help, with an empty line between them. */
enum option_group { GROUP_HASH, GROUP_IMAGE, GROUP_NBD, GROUP_OUTPUT };

enum field_type { FIELD_BOOL, FIELD_STRING, FIELD_UNSIGNED, FIELD_LONG };

struct option_row {
  enum option_group group;
  char letter;                  /* 0: none */
  const char *name;             /* without "--"; NULL: the end of the table */
  const char *arg;              /* NULL: takes none; "[=FD]": the name can go
                                 * without, and the letter takes none */
  const char *help;

  uint64_t min, max;            /* max > 0: the argument is a number */
  bool is_size;                 /* with a suffix */

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

#define MAX_OPTIONS 100
extern const struct option_row option_rows[];

/* What holds for options that are not used. */
void option_defaults (struct options *options);

#endif /* BLKSUM_OPTION_TABLE_H */

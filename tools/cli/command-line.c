/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse a command line: getopt_long finds the options, and the rows of the
 * table define them.
 */

#include <config.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/command-line.h"
#include "cli/usage.h"

/* getopt_long returns the letter of a short option, or FIRST_NAME plus the
 * index of the row of a long option.
 */
#define FIRST_NAME (CHAR_MAX + 1)

static int
compare_names (const void *a, const void *b)
{
  return strcmp (((const struct option *) a)->name,
                 ((const struct option *) b)->name);
}

/* Set LETTERS and NAMES, arguments of getopt_long that the caller has zeroed.
 * NAMES are sorted, because messages list them.
 */
static void
fill_getopt (const struct option_row *row, char *letters,
             struct option *names)
{
  size_t i;

  *letters++ = ':';             /* getopt_long returns ':' if an argument
                                 * is missing */
  for (i = 0; row[i].name; i++) {
    int argument = !row[i].arg ? no_argument :
      row[i].arg[0] == '[' ? optional_argument : required_argument;

    assert (i < USAGE_MAX_OPTIONS);
    names[i] = (struct option) { row[i].name, argument, NULL, FIRST_NAME + i };
    if (row[i].letter)
      *letters++ = row[i].letter;
    if (row[i].letter && argument == required_argument)
      *letters++ = ':';
  }
  qsort (names, i, sizeof *names, compare_names);
}

/* Returns the number of bits by which to shift the number in ARG, whose unit is
 * UNIT: 0 if it is none.
 */
static unsigned
parse_unit (const struct option_row *row, const char *arg, const char *unit)
{
  static const char units[] = "kmgt";
  const char *found = *unit ? strchr (units, tolower ((unsigned char) *unit))
                            : NULL;
  unsigned power = found ? found - units + 1 : 0;

  if (power > 0 && strcasecmp (unit + 1, "b") == 0)
    usage_error ("--%s: '%s' can be in powers of 1000 or of 1024: write "
                 "%.*s%ciB for 1024", row->name, arg, (int) (unit - arg), arg,
                 toupper ((unsigned char) *unit));
  return unit[1] == '\0' || strcmp (unit + 1, "iB") == 0 ? 10 * power : 0;
}

static uint64_t
parse_number (const struct option_row *row, const char *arg)
{
  unsigned shift;
  uint64_t value;
  char *end;

  errno = 0;
  value = strtoull (arg, &end, 10);
  if (!isdigit ((unsigned char) arg[0]) || errno != 0)
    usage_error ("--%s: invalid number '%s'", row->name, arg);
  shift = row->is_size && *end ? parse_unit (row, arg, end) : 0;
  if (value > UINT64_MAX >> shift)
    usage_error ("--%s: '%s' is too large", row->name, arg);
  value <<= shift;
  if (*end && shift == 0)
    usage_error ("--%s: invalid %s '%s'", row->name,
                 row->is_size ? "size" : "number", arg);
  if (value < row->min || value > row->max)
    usage_error ("--%s: '%s' is not between %llu and %llu", row->name, arg,
                 (unsigned long long) row->min,
                 (unsigned long long) row->max);
  return value;
}

/* Returns the use of the option for which getopt_long has just returned C. */
static struct option_use
make_use (const struct option_row *row, int c)
{
  if (c >= FIRST_NAME)
    row += c - FIRST_NAME;
  else
    while (row->letter != c)
      row++;
  return (struct option_use) {
    .row = row,
    .arg = optarg,
    .number = optarg && row->max > 0 ? parse_number (row, optarg) : 0,
    .by_letter = c < FIRST_NAME,
  };
}

static void
set_field (struct options *options, const struct option_use *use)
{
  void *field = (char *) options + use->row->field;
  uint64_t value = use->arg ? use->number : use->row->value;

  switch (use->row->type) {
  case FIELD_BOOL: *(bool *) field = value; break;
  case FIELD_STRING: *(const char **) field = use->arg; break;
  case FIELD_UNSIGNED: *(unsigned *) field = value; break;
  case FIELD_LONG: *(unsigned long *) field = value; break;
  }
}

static void
apply (struct options *options, const struct option_use *use)
{
  if (use->row->print) {
    use->row->print ();
    if (fflush (stdout) == EOF || ferror (stdout)) {
      perror ("blksum: write error"); /* output that is lost is an error */
      exit (EXIT_TROUBLE);
    }
    exit (EXIT_SUCCESS);
  }
  if (use->row->set)
    use->row->set (options, use);
  else
    set_field (options, use);
}

bool
command_line_uses (const struct option_use *uses, const char *text,
                   const struct option_row *row)
{
  const struct option_use *use;
  size_t len;

  while ((text = strstr (text, "--"))) {
    text += 2;
    len = strspn (text, "abcdefghijklmnopqrstuvwxyz-");
    for (use = uses; use < uses + USAGE_MAX_OPTIONS; use++)
      if (use->row && use->row != row &&
          strncmp (use->row->name, text, len) == 0 &&
          use->row->name[len] == '\0')
        return true;
  }
  return false;
}

static void
check_together (const struct option_use *uses)
{
  const struct option_use *use;

  for (use = uses; use < uses + USAGE_MAX_OPTIONS; use++) {
    const struct option_row *row = use->row;

    if (row && row->needs && !command_line_uses (uses, row->needs, row))
      usage_error ("--%s needs %s", row->name, row->needs);
    if (row && row->excludes && command_line_uses (uses, row->excludes, row))
      usage_error ("%s", row->excludes);
  }
}

int
command_line_parse (const struct option_row *rows, struct options *options,
                    int argc, char *argv[])
{
  char letters[2 * USAGE_MAX_OPTIONS + 2] = "";
  struct option names[USAGE_MAX_OPTIONS + 1] = { { 0 } };
  struct option_use uses[USAGE_MAX_OPTIONS] = { { 0 } };
  int c;

  fill_getopt (rows, letters, names);
  opterr = 0;
  while ((c = getopt_long (argc, argv, letters, names, NULL)) != -1) {
    struct option_use use;

    if (c == ':')
      usage_error ("option '%s' needs an argument", argv[optind - 1]);
    if (c == '?')
      usage_unknown_option (names, argv[optind - 1]);
    use = make_use (rows, c);
    apply (options, &use);
    uses[use.row - rows] = use;
  }
  check_together (uses);
  return optind;
}

#define HELP_COLUMN 27

static void
print_row (const struct option_row *row)
{
  char letter[] = "-x, ";
  const char *arg = row->arg ? row->arg : "";
  int len;

  letter[1] = row->letter;
  len = printf ("  %4s--%s%s%s", row->letter ? letter : "", row->name,
                *arg && *arg != '[' ? " " : "", arg);
  printf ("%*s%s\n", HELP_COLUMN - len, "", row->help);
}

void
command_line_print (const struct option_row *rows)
{
  const struct option_row *row;

  for (row = rows; row->name; row++) {
    if (row > rows && row->group != row[-1].group)
      putchar ('\n');
    print_row (row);
  }
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * getopt_long finds the options, and the rows of the command define them.
 */

#include <config.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/common/strata.h"
#include "../lib/common/text.h"
#include "cli/command-line.h"
#include "cli/program.h"

/* ---- The rows ---- */

void
command_line_list (const struct command *command, struct option_list *list)
{
  const struct option_group *group;
  const struct option_row *row;

  list->count = 0;
  for (group = command->groups; group->rows; group++)
    for (row = group->rows; row->name; row++) {
      assert (list->count < MAX_OPTIONS);
      list->rows[list->count++] = row;
    }
}

unsigned
command_line_modes (const struct option_row *row)
{
  return row->modes ? row->modes : row->selects ? row->selects : UINT_MAX;
}

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
fill_getopt (const struct option_list *list, char *letters,
             struct option *names)
{
  size_t i;

  *letters++ = ':';             /* getopt_long returns ':' if an argument
                                 * is missing */
  for (i = 0; i < list->count; i++) {
    const struct option_row *row = list->rows[i];
    int argument = !row->arg ? no_argument :
      row->arg[0] == '[' ? optional_argument : required_argument;

    names[i] = (struct option) { row->name, argument, NULL, FIRST_NAME + i };
    if (row->letter)
      *letters++ = row->letter;
    if (row->letter && argument == required_argument)
      *letters++ = ':';
  }
  qsort (names, i, sizeof *names, compare_names);
}

/* ---- Unknown options ---- */

/* What options of earlier versions have become. */
static const struct {
  const char *name, *now;
} retired[] = {
  { "assume-unchanged", "blkhash parts --state NAME" },
  { "audit", "blkhash update --audit" },
  { "bitmap", "blkhash update --bitmap NAME --manifest NEW OLD URI" },
  { "changed", "blkhash update --changed RANGES --manifest NEW OLD IMAGE" },
  { "compare", "blkhash compare A B" },
  { "dry-run", "blkhash repair --dry-run" },
  { "expect-sum", "blkhash repair --sum SUM" },
  { "image-opts", "qemu-nbd --image-opts, and blksum URI" },
  { "linear", "-d sha256/64k/linear" },
  { "manifest-dir", "blkhash parts --part I/N IMAGE DIR" },
  { "merge", "blkhash merge PART..." },
  { "object", "qemu-nbd --object, and blksum URI" },
  { "repair-from", "blkhash repair --from SRC" },
  { "repair-limit", "blkhash repair --limit N%" },
  { "resume", "blkhash parts IMAGE DIR" },
  { "streams", "-d sha256/64k/sN" },
  { "subset", "--part I/N" },
  { "update", "blkhash update --changed RANGES --manifest NEW OLD IMAGE" },
};

static void
check_retired (const char *name)
{
  for (size_t i = 0; i < sizeof retired / sizeof retired[0]; i++)
    if (strcmp (retired[i].name, name) == 0)
      usage_invalid ("--%s is now: %s", name, retired[i].now);
}

/* Report the error for which getopt_long has returned '?'.  ARG is
 * argv[optind - 1].
 */
static void unknown_option (const struct option *options, const char *arg)
  __attribute__ ((noreturn));

static void
unknown_option (const struct option *options, const char *arg)
{
  char found[256] = "";         /* the options whose names begin so */
  size_t i, alike = 0, len = 0;
  const char *name;

  for (i = 0; options[i].name; i++)
    if (optopt != 0 && optopt == options[i].val)
      usage_error ("option '--%s' takes no argument", options[i].name);
  if (optopt != 0)
    usage_error ("invalid option '-%c'", optopt);

  name = strndup (arg + 2, strcspn (arg + 2, "="));
  if (!name)
    usage_error ("unrecognized option '%s'", arg);
  for (i = 0; options[i].name; i++)
    if (strncmp (options[i].name, name, strlen (name)) == 0 &&
        len < sizeof found) {
      len += snprintf (found + len, sizeof found - len, " '--%s'",
                       options[i].name);
      alike++;
    }
  if (alike > 1)
    usage_error ("option '--%s' is ambiguous; possibilities:%s", name, found);
  check_retired (name);
  usage_error ("unrecognized option '--%s'", name);
}

/* ---- Arguments ---- */

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
    usage_invalid ("--%s: '%s' can be in powers of 1000 or of 1024: write "
                   "%.*s%ciB for 1024", row->name, arg, (int) (unit - arg),
                   arg, toupper ((unsigned char) *unit));
  return unit[1] == '\0' || strcmp (unit + 1, "iB") == 0 ? 10 * power : 0;
}

static uint64_t
parse_number (const struct option_row *row, const char *arg)
{
  unsigned shift;
  uint64_t value;
  const char *end = number_parse (arg, &value);

  if (!end)
    usage_invalid ("--%s: invalid number '%s'", row->name, arg);
  shift = row->is_size && *end ? parse_unit (row, arg, end) : 0;
  if (value > UINT64_MAX >> shift)
    usage_invalid ("--%s: '%s' is too large", row->name, arg);
  value <<= shift;
  if (*end && shift == 0)
    usage_invalid ("--%s: invalid %s '%s'", row->name,
                   row->is_size ? "size" : "number", arg);
  if (value < row->min || value > row->max)
    usage_invalid ("--%s: '%s' is not between %" PRIu64 " and %" PRIu64,
                   row->name, arg, row->min, row->max);
  return value;
}

static uint32_t
parse_share (const struct option_row *row, const char *arg)
{
  uint32_t share;

  if (!strata_parse_share (arg, &share))
    usage_invalid ("--%s: '%s' is not a number from 0 to 100, with up to six "
                   "decimals, and a percent sign", row->name, arg);
  return share;
}

/* Returns the index of ARG in the words of ROW. */
static unsigned
find_word (const struct option_row *row, const char *arg)
{
  const char *word = row->words;
  size_t len = strlen (arg);
  unsigned i;

  for (i = 0; *word; i++) {
    size_t end = strcspn (word, " ");

    if (end == len && memcmp (word, arg, len) == 0)
      return i;
    word += end;
    word += strspn (word, " ");
  }
  usage_invalid ("--%s: '%s' is none of: %s", row->name, arg, row->words);
}

/* Returns the use of the option for which getopt_long has just returned C. */
static struct option_use
make_use (const struct option_list *list, int c)
{
  const struct option_row *row;
  size_t i = 0;

  if (c >= FIRST_NAME)
    i = c - FIRST_NAME;
  else
    while (list->rows[i]->letter != c)
      i++;
  row = list->rows[i];
  return (struct option_use) {
    .row = row,
    .arg = optarg,
    .number = !optarg ? 0 : row->max > 0 ? parse_number (row, optarg)
              : row->words ? find_word (row, optarg)
              : row->is_share ? parse_share (row, optarg) : 0,
    .by_letter = c < FIRST_NAME,
  };
}

static void
set_field (void *options, const struct option_use *use)
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
apply (const struct command *command, void *options,
       const struct option_use *use)
{
  if (use->row->print) {
    errno = 0;
    use->row->print (command);
    program_flush ();
    exit (EXIT_SUCCESS);
  }
  if (use->row->set)
    use->row->set (options, use);
  else
    set_field (options, use);
}

/* ---- Modes ---- */

/* Report that ROW is only permitted in its modes, none of which is selected. */
static void needs_mode (const struct option_list *list,
                        const struct option_row *row)
  __attribute__ ((noreturn));

static void
needs_mode (const struct option_list *list, const struct option_row *row)
{
  char names[256] = "";
  size_t i, len = 0;

  for (i = 0; i < list->count; i++)
    if (list->rows[i]->selects & row->modes)
      len += snprintf (names + len, sizeof names - len, "%s--%s",
                       len ? " or " : "", list->rows[i]->name);
  usage_error ("--%s needs %s", row->name, names);
}

static void
check_modes (const struct command *command, const struct option_list *list,
             const bool *used)
{
  const struct option_row *selected = NULL;
  unsigned mode;
  size_t i;

  for (i = 0; i < list->count && !selected; i++)
    if (used[i] && list->rows[i]->selects)
      selected = list->rows[i];
  mode = selected ? selected->selects : command->default_mode;
  for (i = 0; i < list->count; i++) {
    const struct option_row *row = list->rows[i];

    if (!used[i] || (command_line_modes (row) & mode) || mode == 0)
      continue;
    if (!selected)
      needs_mode (list, row);
    usage_error ("--%s cannot be used with --%s", row->name, selected->name);
  }
}

int
command_line_parse (const struct command *command, void *options, int argc,
                    char *argv[])
{
  char letters[2 * MAX_OPTIONS + 2] = "";
  struct option names[MAX_OPTIONS + 1] = { { 0 } };
  bool used[MAX_OPTIONS] = { false };
  struct option_list list;
  int c;

  usage_command = command->name;
  command_line_list (command, &list);
  fill_getopt (&list, letters, names);
  opterr = 0;
  while ((c = getopt_long (argc, argv, letters, names, NULL)) != -1) {
    struct option_use use;
    size_t i;

    if (c == ':')
      usage_error ("option '%s' needs an argument", argv[optind - 1]);
    if (c == '?')
      unknown_option (names, argv[optind - 1]);
    use = make_use (&list, c);
    apply (command, options, &use);
    for (i = 0; list.rows[i] != use.row; i++)
      ;
    used[i] = true;
  }
  check_modes (command, &list, used);
  return optind;
}

/* ---- Help ---- */

#define HELP_COLUMN 27

static void
print_row (const struct option_row *row)
{
  char letter[] = "-x, ";
  const char *arg = row->arg ? row->arg : "", *help = row->help;
  int len;

  letter[1] = row->letter;
  len = printf ("  %4s--%s%s%s", row->letter ? letter : "", row->name,
                *arg && *arg != '[' ? " " : "", arg);
  for (;;) {
    int end = strcspn (help, "\n");

    printf ("%*s%.*s\n", HELP_COLUMN - len, "", end, help);
    if (help[end] == '\0')
      return;
    help += end + 1;
    len = 0;
  }
}

static void
print_help (const struct command *command)
{
  const struct option_group *group;
  const struct option_row *row;

  printf ("%s\n", command->usage);
  for (group = command->groups; group->rows; group++) {
    if (group->title)
      printf (*group->title ? "\n%s:\n" : "\n", group->title);
    for (row = group->rows; row->name; row++)
      if (row->help)
        print_row (row);
  }
  if (command->help_end)
    printf ("\n%s", command->help_end);
}

const struct option_row standard_rows[] = {
  { 'h', "help", NULL, "print this and exit", .print = print_help },
  { 'V', "version", NULL, "print the version and exit",
    .print = program_print_version },
  { .name = NULL },
};

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Completions of a partial command line, for the completion functions of the
 * shells in completions/.  They are derived only from the rows of the options.
 * The name of an argument in --help determines its completions: a new option
 * whose argument is FILE is completed with files.  The files that the words
 * name are not opened.  To list the formats, qemu-img is run.
 */

#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command-line.h"
#include "cli/input-options.h"
#include "format/probe.h"

/* The result of parsing all words except the last. */
struct line {
  struct option_list list;
  bool used[MAX_OPTIONS];       /* for each row in LIST */
  const struct option_row *pending; /* the next word is the argument of this
                                     * option; or NULL */
  bool options_ended;               /* by the word "--" */
};

static bool
needs_argument (const struct option_row *row)
{
  return row->arg && row->arg[0] != '[';
}

/* Returns the index of the row with LETTER, or -1. */
static int
find_letter (const struct option_list *list, char letter)
{
  for (size_t i = 0; i < list->count; i++)
    if (list->rows[i]->letter == letter)
      return i;
  return -1;
}

/* Returns the index of the row with the name, or -1.  Accepts a unique prefix
 * of a name, like getopt_long.
 */
static int
find_name (const struct option_list *list, const char *name, size_t len)
{
  int found = -1;
  size_t i, count = 0;

  for (i = 0; i < list->count; i++) {
    if (strncmp (list->rows[i]->name, name, len) != 0)
      continue;
    if (list->rows[i]->name[len] == '\0')
      return i;
    found = i;
    count++;
  }
  return count == 1 ? found : -1;
}

/* Record the options in WORD.  If one of them has an argument, return this
 * option, and set *ARG to the offset of the argument in WORD, or to 0 if the
 * argument is the next word.  Otherwise return NULL.
 */
static const struct option_row *
parse_option_word (struct line *line, const char *word, size_t *arg)
{
  const struct option_list *list = &line->list;
  const struct option_row *row;
  int found;
  size_t i;

  if (word[1] == '-') {
    size_t len = strcspn (word, "=");

    found = find_name (list, word + 2, len - 2);
    if (found == -1)
      return NULL;
    row = list->rows[found];
    line->used[found] = true;
    *arg = word[len] ? len + 1 : 0;
    return needs_argument (row) || (row->arg && *arg > 0) ? row : NULL;
  }
  for (i = 1; word[i]; i++) {
    found = find_letter (list, word[i]);
    if (found == -1)
      return NULL;
    row = list->rows[found];
    line->used[found] = true;
    *arg = word[i + 1] ? i + 1 : 0;
    if (needs_argument (row))
      return row;
  }
  return NULL;
}

/* Parse a word that is not the last. */
static void
parse_word (struct line *line, const char *word)
{
  const struct option_row *row;
  size_t arg;

  if (line->pending)
    line->pending = NULL;
  else if (line->options_ended || word[0] != '-' || word[1] == '\0')
    return;
  else if (strcmp (word, "--") == 0)
    line->options_ended = true;
  else {
    row = parse_option_word (line, word, &arg);
    if (row && arg == 0)
      line->pending = row;
  }
}

/* Print the first line of the output.  The completions replace what follows the
 * first LEN bytes of WORD.
 */
static void
print_kind (const char *kind, const char *word, size_t len)
{
  printf ("%s\t%.*s\n", kind, (int) len, word);
}

/* Print the words of LIST, which are separated by ", " or spaces. */
static void
print_list (const char *list)
{
  while (*list) {
    size_t len = strcspn (list, ", ");

    printf ("%.*s\n", (int) len, list);
    list += len;
    list += strspn (list, ", ");
  }
}

static void
print_formats (void)
{
  char *list = format_list ();

  if (list)
    print_list (list);
  free (list);
}

/* If "manifest:" is at OFFSET in WORD, print completions for the file after it.
 * Otherwise return false.
 */
static bool
print_manifest (const char *word, size_t offset)
{
  static const char prefix[] = "manifest:";
  size_t len = strlen (prefix);

  if (strncmp (word + offset, prefix, len) != 0)
    return false;
  print_kind ("files", word, offset + len);
  return true;
}

/* Returns true if ARG is a name that --help uses for a file. */
static bool
is_file (const char *arg)
{
  return strcmp (arg, "FILE") == 0 ||
    strcmp (arg, "RANGES") == 0 || strcmp (arg, "SRC") == 0 ||
    strcmp (arg, "NEW") == 0;
}

/* Print completions for the argument of ROW, at OFFSET in WORD. */
static void
print_argument (const struct command *command, const struct option_row *row,
                const char *word, size_t offset)
{
  const char *slash = strrchr (word + offset, '/');

  if (is_file (row->arg))
    print_kind ("files", word, offset);
  else if (strcmp (row->arg, "SUM") == 0) {
    if (!print_manifest (word, offset)) {
      print_kind ("words", word, offset);
      puts ("manifest:");
    }
  }
  else if (strcmp (row->arg, "DIGEST,...") == 0) {
    const char *comma = strrchr (word + offset, ',');

    print_kind ("words", word, comma ? comma + 1 - word : offset);
    input_print_digests (command);
  }
  else if (strcmp (row->arg, "SPEC") == 0) {
    print_kind ("words", word, slash ? slash + 1 - word : offset);
    if (!slash)
      input_print_digests (command);
    else if (strchr (word + offset, '/') == slash)
      print_list ("4k 8k 16k 32k 64k 128k 256k 512k 1m 2m 4m 8m 16m");
    else
      print_list ("s64 linear");
  }
  else {
    print_kind ("words", word, offset);
    if (row->words)
      print_list (row->words);
    else if (strcmp (row->arg, "FMT") == 0)
      print_formats ();
  }
}

/* Print an option and its help, whose lines are joined. */
static void
print_option (const char *before, const char *name, const char *after,
              const char *help)
{
  printf ("%s%s%s\t", before, name, after);
  for (; *help; help++)
    putchar (*help == '\n' ? ' ' : *help);
  putchar ('\n');
}

/* Returns the modes in which all options that are used are permitted. */
static unsigned
possible_modes (const struct line *line)
{
  unsigned modes = UINT_MAX;

  for (size_t i = 0; i < line->list.count; i++)
    if (line->used[i])
      modes &= command_line_modes (line->list.rows[i]);
  return modes;
}

static void
print_options (const struct line *line, const char *word)
{
  unsigned modes = possible_modes (line);

  print_kind ("words", word, 0);
  for (size_t i = 0; i < line->list.count; i++) {
    const struct option_row *row = line->list.rows[i];

    if (!row->help || !(command_line_modes (row) & modes) ||
        (line->used[i] && !row->repeats))
      continue;
    if (row->letter && word[1] != '-')
      print_option ("-", (char[]) { row->letter, '\0' }, "", row->help);
    print_option ("--", row->name, "", row->help);
    if (row->arg && !needs_argument (row))
      print_option ("--", row->name, "=", row->help);
  }
}

static void
print_operand (const struct command *command, const struct line *line,
               const char *word)
{
  if (!(possible_modes (line) & ~command->file_modes))
    print_kind ("files", word, 0);
  else if (!print_manifest (word, 0)) {
    print_kind ("files", word, 0);
    if (*word && strncmp ("manifest:", word, strlen (word)) == 0)
      puts ("manifest:");
  }
}

void
complete_print (const struct command *command, int nr_words,
                char *const words[])
{
  const char *word = nr_words > 0 ? words[nr_words - 1] : "";
  struct line line = { .pending = NULL }, before;
  const struct option_row *row;
  size_t arg;
  int i;

  command_line_list (command, &line.list);
  for (i = 0; i < nr_words - 1; i++)
    parse_word (&line, words[i]);
  if (line.pending)
    print_argument (command, line.pending, word, 0);
  else if (line.options_ended || word[0] != '-')
    print_operand (command, &line, word);
  else {
    before = line;
    row = parse_option_word (&line, word, &arg);
    if (row && arg > 0)
      print_argument (command, row, word, arg);
    else
      print_options (&before, word);
  }
}

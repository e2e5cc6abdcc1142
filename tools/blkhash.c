/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash: manifests of disk images, and the differences between images.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"

static const struct command *const commands[] = {
  &cmd_compare, &cmd_update, &cmd_parts, &cmd_merge,
#ifdef HAVE_LINUX_LOOP_H
  &cmd_repair,
#endif
  &cmd_export,
};

#define NR_COMMANDS (sizeof commands / sizeof commands[0])

static const struct command *
find (const char *name)
{
  for (size_t i = 0; i < NR_COMMANDS; i++)
    if (strcmp (commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

static void
print_help (void)
{
  puts ("Usage: blkhash COMMAND [OPTION]... OPERAND...\n"
        "Work with manifests of disk images, and with differences of images."
        "\n");
  for (size_t i = 0; i < NR_COMMANDS; i++)
    printf ("  %-10s%s\n", commands[i]->name, commands[i]->summary);
  puts ("\n"
        "'blkhash COMMAND --help' describes a command, 'blkhash --version'\n"
        "prints the version.  blksum prints and checks sums.\n"
        "Exit status: 0 yes, 1 differs, 2 unknown.");
}

static void
print_commands (const char *word)
{
  printf ("words\t\n");
  if (*word == '-')
    puts ("--help\tprint this and exit\n"
          "--version\tprint the version and exit");
  for (size_t i = 0; i < NR_COMMANDS; i++)
    printf ("%s\t%s\n", commands[i]->name, commands[i]->summary);
}

/* The WORDS after "--complete", which is not a command, are the unfinished
 * command line.
 */
static void
complete (int nr_words, char *words[])
{
  const struct command *command = nr_words > 1 ? find (words[0]) : NULL;

  if (command)
    complete_print (command, nr_words - 1, words + 1);
  else if (nr_words <= 1)
    print_commands (nr_words == 1 ? words[0] : "");
}

int
main (int argc, char *argv[])
{
  const char *name = argc > 1 ? argv[1] : NULL;
  const struct command *command;

  program_start ("blkhash");
  if (!name)
    usage_error ("a command is missing");
  command = find (name);
  if (command)
    return input_run (command, argc - 1, argv + 1);
  if (strcmp (name, "--complete") == 0)
    complete (argc - 2, argv + 2);
  else if (strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0)
    print_help ();
  else if (strcmp (name, "--version") == 0 || strcmp (name, "-V") == 0)
    program_print_version (NULL);
  else
    usage_error ("'%s' is not a command; blksum prints and checks sums", name);
  program_flush ();
  return EXIT_SUCCESS;
}

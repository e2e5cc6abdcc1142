/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <string.h>

#include "cli/shell-word.h"

void
shell_word_print (FILE *out, const char *word)
{
  static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    "%+,-./:=@_";

  if (*word && strspn (word, plain) == strlen (word)) {
    fputs (word, out);
    return;
  }
  putc ('\'', out);
  for (; *word; word++)
    if (*word == '\'')
      fputs ("'\\''", out);
    else
      putc (*word, out);
  putc ('\'', out);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that shows progress, as wide as the terminal.
 *
 * The width of the terminal is read each time, because the user can change it.
 * The last column stays free, because some terminals wrap the line after it.
 */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../lib/common/memstream.h"
#include "../lib/common/utf8.h"
#include "cli/progress-bar.h"

#define DEFAULT_WIDTH 80        /* if the terminal reports no width */
#define PERCENT_WIDTH 4         /* columns of "100%" */
#define MIN_BAR 5               /* minimum width of a bar with its brackets */
#define MIN_NAME_AND_BAR 16     /* minimum width of the name and the bar if a
                                 * text follows */
#define TEXT_WIDTH 24           /* reserved columns for the text, so that the
                                 * bar keeps its width */
#define CUT "..."

/* Returns the number of usable columns. */
static int
columns (int fd)
{
  struct winsize size;

  if (ioctl (fd, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
    return DEFAULT_WIDTH - 1;
  return size.ws_col - 1;
}

/* The character at TEXT: its length in bytes, its width in columns, and whether
 * it can be printed.  All characters of three bytes and more count as two
 * columns wide, because many are; at worst the bar is shorter.
 */
struct character {
  int bytes, columns;
  bool printable;
};

static struct character
character_at (const char *text)
{
  const unsigned char *s = (const unsigned char *) text;
  size_t n = utf8_length (text);

  if (n == 0 || s[0] < ' ' || s[0] == 127)
    return (struct character) { 1, 1, false };
  if (s[0] == 0xc2 && s[1] < 0xa0) /* control characters, too */
    return (struct character) { 2, 1, false };
  return (struct character) { n, n > 2 ? 2 : 1, true };
}

static int
width_of (const char *text)
{
  int width = 0;

  while (*text) {
    struct character c = character_at (text);

    width += c.columns;
    text += c.bytes;
  }
  return width;
}

/* Print NAME and a space in at most MAX columns, or nothing if these are too
 * few.  A longer name is cut at its start, because the end of a path is more
 * useful.  Returns the number of columns that were used.
 */
static int
print_name (FILE *out, const char *name, int max)
{
  int width = name ? width_of (name) : 0, printed;

  max--;                        /* for the space */
  if (width == 0 || max <= (int) strlen (CUT))
    return 0;
  if (width > max) {
    fputs (CUT, out);
    max -= strlen (CUT);
    printed = strlen (CUT);
  }
  else
    printed = 0;
  while (*name) {
    struct character c = character_at (name);

    if (width <= max) {
      if (c.printable)
        fwrite (name, 1, c.bytes, out);
      else
        putc ('?', out);
      printed += c.columns;
    }
    else
      width -= c.columns;
    name += c.bytes;
  }
  putc (' ', out);
  return printed + 1;
}

static void
print_bar (FILE *out, int width, int percent)
{
  int full = (int64_t) width * percent / 100;

  putc ('[', out);
  for (int i = 0; i < width; i++)
    putc (i < full ? '#' : ' ', out);
  fputs ("] ", out);
}

/* Close OUT, a memory stream, and write its text in one call. */
static void
show (int fd, FILE *out, char **text, size_t *size)
{
  ssize_t r = 0;

  if (memstream_close (out, text))
    r = write (fd, *text, *size);
  (void) r;
  free (*text);
}

/* LEFT is the number of columns for the name, the bar and TEXT.  Returns the
 * number of columns that TEXT takes of these, with a space in front of it; 0 if
 * TEXT is empty or does not fit.
 */
static int
text_columns (const char *text, int left)
{
  int width = strlen (text);

  if (width == 0)
    return 0;
  width = 1 + (width > TEXT_WIDTH ? width : TEXT_WIDTH);
  return left - width >= MIN_NAME_AND_BAR ? width : 0;
}

/* Returns TEXT and MORE with a comma between them if both fit (LEFT is as for
 * text_columns), and otherwise TEXT.
 */
static const char *
join (char *both, size_t room, const char *text, const char *more, int left)
{
  if (!*text || !*more)
    return text;
  snprintf (both, room, "%s, %s", text, more);
  return text_columns (both, left) > 0 ? both : text;
}

void
progress_bar_percent (int fd, const char *name, int percent, const char *text,
                      const char *more)
{
  char *line = NULL, both[160];
  size_t size = 0;
  FILE *out = open_memstream (&line, &size);
  int left = columns (fd) - PERCENT_WIDTH, text_width;

  if (!out)
    return;
  putc ('\r', out);
  text = join (both, sizeof both, text, more, left);
  text_width = text_columns (text, left);
  left -= text_width;
  /* The name gets at most half of the rest of the line. */
  left -= print_name (out, name, left / 2);
  if (left > MIN_BAR)
    print_bar (out, left - 3, percent);
  if (left >= 0)
    fprintf (out, "%3d%%", percent);
  if (text_width > 0)
    fprintf (out, " %-*s", text_width - 1, text);
  fputs ("\033[K", out);
  show (fd, out, &line, &size);
}

void
progress_bar_text (int fd, const char *name, const char *text)
{
  char *line = NULL;
  size_t size = 0;
  FILE *out = open_memstream (&line, &size);
  int left = columns (fd) - (int) strlen (text);

  if (!out)
    return;
  putc ('\r', out);
  print_name (out, name, left);
  if (left >= 0)
    fputs (text, out);
  fputs ("\033[K", out);
  show (fd, out, &line, &size);
}

void
progress_bar_erase (int fd)
{
  ssize_t r = write (fd, "\r\033[K", 4);

  (void) r;
}

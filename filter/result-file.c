/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file has a line for each export.  A line can change.  report.c and
 * verify/publish.c let only one thread at a time write the file.
 *
 * A small file is replaced as a whole for each change (see output-file.c).
 * Clients choose the names of exports, and so also the number and the length of
 * the lines.  So in a large file, a change must write only the lines that
 * change.  Each line of a large file has a prefix.  The prefix of a valid line
 * is "#" and a newline, which is an empty comment.  The prefix of any other
 * line is "##", which makes the line a comment.  A change has three steps:
 *
 * - the new lines are appended as comments, and synced;
 * - the prefixes of the new lines become "#" and a newline;
 * - the prefixes of the old lines become "##", and this is synced if the old
 *   lines must not come back.
 *
 * A prefix changes in one byte, so a reader sees either a whole line or none,
 * even after a crash.  If a line is replaced, a reader can see both the old and
 * the new line for a moment, but always sees at least one of them.
 *
 * The file is replaced when less than half of its bytes are in valid lines.  So
 * all replacements together write at most about as much as the changes.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output-file.h"
#include "result-file.h"
#include "result-lines.h"

#define MAX_SMALL 65536         /* bytes */

#define PREFIX_LEN (strlen (RESULT_LIVE))

static int
is_result (int fd, char *why)
{
  (void) why;
  return result_lines_are_ours (fd);
}

static struct output_file file = {
  .is_ours = is_result, .what = "a result of this command"
};

static bool is_large;           /* the file is changed in place */
/* Valid only if IS_LARGE is set. */
static off_t size;              /* size of the file, bytes */
static off_t live;              /* bytes of the header, and of valid lines with
                                 * their prefixes */

int
result_file_open (const char *param, const char *path, bool create)
{
  file.param = param;
  return path ? output_file_open (&file, path, create) : 0;
}

int
result_file_check (void)
{
  return output_file_check (&file);
}

int
result_file_start (void)
{
  return output_file_empty (&file);
}

void
result_file_stop (void)
{
  output_file_stop (&file);
}

/* ---- The whole file ---- */

static size_t
total_len (const struct result_change *changes, size_t count)
{
  size_t len = 0, i;

  for (i = 0; i < count; i++)
    len += changes[i].text ? strlen (changes[i].text) : 0;
  return len;
}

/* Returns START and the texts of CHANGES, each after PREFIX; the caller frees
 * this string.  Sets the places of CHANGES for a file that has the string at
 * OFFSET.  Returns NULL if there is no memory.
 */
static char *
join (const char *start, const char *prefix, off_t offset,
      const struct result_change *changes, size_t count)
{
  char *text = malloc (strlen (start) + total_len (changes, count) +
                       count * strlen (prefix) + 1);
  char *end = text;
  size_t i;

  if (!text)
    return NULL;
  end = stpcpy (end, start);
  for (i = 0; i < count; i++) {
    *changes[i].place = (struct result_place) { 0, 0 };
    if (changes[i].text) {
      changes[i].place->start = offset + (end - text);
      changes[i].place->len = strlen (changes[i].text);
      end = stpcpy (stpcpy (end, prefix), changes[i].text);
    }
  }
  return text;
}

static char *
join_small (const struct result_change *changes, size_t count)
{
  char *text = join (result_form.header, "", 0, changes, count);
  char *lines = text ? text + strlen (result_form.header) : NULL;

  if (text && result_lines_need_no_header (lines))
    memmove (text, lines, strlen (lines) + 1);
  return text;
}

static char *
join_large (const struct result_change *changes, size_t count)
{
  char *text = join (result_form.header, RESULT_LIVE, 0, changes, count);

  if (text)
    size = live = strlen (text);
  return text;
}

/* A large file is always synced: otherwise a crash could bring back the file
 * that it replaced, without the changes that were made in place since then.
 */
void
result_file_replace (const struct result_change *changes, size_t count,
                     bool sync)
{
  char *text = NULL;

  is_large = changes && total_len (changes, count) > MAX_SMALL;
  if (changes)
    text = is_large ? join_large (changes, count)
                    : join_small (changes, count);
  output_file_write (&file, text, sync || is_large);
  free (text);
}

/* ---- Changes in place ---- */

bool
result_file_takes_changes (void)
{
  return is_large && live >= size - live;
}

/* Change the prefix at START to PREFIX, by writing its second byte.  Returns 0,
 * or -1 with errno, as append and change do.
 */
static int
mark (int fd, off_t start, const char *prefix)
{
  return output_file_write_at (fd, start + 1, prefix + 1, 1);
}

static int
append (int fd, const struct result_change *changes, size_t count)
{
  char *text = join ("", RESULT_DEAD, size, changes, count);
  size_t len = text ? strlen (text) : 0;
  int r = text ? 0 : -1;

  if (len > 0 && (output_file_write_at (fd, size, text, len) == -1 ||
                  fsync (fd) == -1))
    r = -1;
  free (text);
  size += len;
  live += len;
  return r;
}

static int
change (int fd, const struct result_change *changes, size_t count,
        const struct result_place *old, bool sync)
{
  size_t i;

  if (append (fd, changes, count) == -1)
    return -1;
  for (i = 0; i < count; i++)
    if (changes[i].text &&
        mark (fd, changes[i].place->start, RESULT_LIVE) == -1)
      return -1;
  for (i = 0; i < count; i++)
    if (old[i].start > 0) {
      if (mark (fd, old[i].start, RESULT_DEAD) == -1)
        return -1;
      live -= PREFIX_LEN + old[i].len;
    }
  return sync ? fsync (fd) : 0;
}

bool
result_file_change (const struct result_change *changes, size_t count,
                    bool sync)
{
  int fd = output_file_current (&file, size), r = -1;
  struct result_place *old;
  size_t i;

  if (fd == -1) {
    is_large = false;
    return false;
  }
  old = calloc (count + 1, sizeof *old);
  for (i = 0; old && i < count; i++)
    old[i] = *changes[i].place;
  if (old)
    r = change (fd, changes, count, old, sync);
  free (old);
  is_large = r == 0;
  output_file_written (&file, r);
  return true;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file.
 *
 * Each change writes a new file beside it and moves that over it, so that a
 * reader sees one state or the next.  When that fails, what the file says of
 * this export could be stale: it is emptied in place, and if even that fails,
 * removed.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/cleanup.h"
#include "../lib/sum-line.h"
#include "params.h"
#include "report.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct report_line *lines, **lines_tail = &lines;
static char *path, *new_path;   /* of the file, and of the one to replace it */
static mode_t mode;             /* of the file */
static bool held;               /* by report_hold */

int
report_start (void)
{
  struct stat st;
  int fd;

  if (!params.file)
    return 0;
  fd = open (params.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY |
             O_NONBLOCK, 0666);
  if (fd == -1 || fstat (fd, &st) == -1) {
    nbdkit_error ("blkhash-file: %s: %m", params.file);
    if (fd != -1)
      close (fd);
    return -1;
  }
  close (fd);
  if (!S_ISREG (st.st_mode)) {
    nbdkit_error ("blkhash-file: %s: not a regular file", params.file);
    return -1;
  }
  mode = st.st_mode & 0777;

  /* Replace what a symbolic link points to, not the link. */
  path = nbdkit_realpath (params.file);
  if (!path || asprintf (&new_path, "%s.blkhash-new", path) == -1)
    return -1;
  return report_check ();
}

static int
open_new (void)
{
  unlink (new_path);            /* of a server that was killed */
  return open (new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int
report_check (void)
{
  int fd;

  if (!path)
    return 0;
  fd = open_new ();
  if (fd == -1) {
    nbdkit_error ("blkhash-file: cannot make %s, to replace the file with: "
                  "%m", new_path);
    return -1;
  }
  close (fd);
  unlink (new_path);
  return 0;
}

void
report_stop (void)
{
  free (path);
  free (new_path);
}

static int
write_lines_locked (int fd, bool sync)
{
  const struct report_line *line;
  FILE *out = fdopen (fd, "w");
  int r = 0;

  if (!out) {
    close (fd);
    return -1;
  }
  for (line = lines; line && r >= 0; line = line->next)
    if (line->text)
      r = fputs (line->text, out);
  if (r < 0 || fflush (out) == EOF ||
      (sync && fsync (fd) == -1)) {
    r = errno;
    fclose (out);
    errno = r;
    return -1;
  }
  return fclose (out) == EOF ? -1 : 0;
}

static int
replace_file_locked (bool sync)
{
  int fd = open_new ();

  if (fd == -1)
    return -1;
  if (write_lines_locked (fd, sync) == -1 || rename (new_path, path) == -1) {
    int err = errno;

    unlink (new_path);
    errno = err;
    return -1;
  }
  return 0;
}

/* What is withdrawn must not come back after a crash. */
static void
update_file_locked (bool sync)
{
  if (replace_file_locked (sync) == 0)
    return;
  nbdkit_error ("blkhash: cannot write %s: %m", path);
  if (truncate (path, 0) == -1 && unlink (path) == -1 && errno != ENOENT)
    nbdkit_error ("blkhash: cannot remove %s, it may be wrong now: %m", path);
}

/* Takes TEXT over. */
static void
say (struct report_line *line, char *text)
{
  SCOPED_LOCK (&lock);

  if (!line->listed) {
    *lines_tail = line;
    lines_tail = &line->next;
    line->listed = 1;
  }
  free (line->text);
  line->text = text;
  if (path && !held)
    update_file_locked (text == NULL);
  else if (!path && text)
    fputs (text, stderr);
}

/* The default export has a name of its own choosing. */
static const char *
display_name (const char *name)
{
  return *name ? name : params.name;
}

/* No memory to say it: then at least nothing stale is said. */
static void
say_or_withdraw (struct report_line *line, char *text)
{
  if (!text)
    nbdkit_error ("blkhash: no memory for the result");
  say (line, text);
}

void
report_sum (struct report_line *line, const char *name,
            const unsigned char *md, size_t len)
{
  char *sum = sum_line (params.hash, md, len, display_name (name),
                        params.tag, true);
  char *text = NULL;

  if (sum && asprintf (&text, "%s\n", sum) == -1)
    text = NULL;
  free (sum);
  say_or_withdraw (line, text);
}

void
report_incomplete (struct report_line *line, const char *name,
                   const char *why)
{
  char *escaped = sum_line_escape (display_name (name));
  char *text = NULL;

  if (escaped &&
      asprintf (&text, "# incomplete %s: %s\n", escaped, why) == -1)
    text = NULL;
  free (escaped);
  say_or_withdraw (line, text);
}

void
report_withdraw (struct report_line *line)
{
  say (line, NULL);
}

void
report_hold (void)
{
  SCOPED_LOCK (&lock);

  held = true;
}

void
report_release (void)
{
  SCOPED_LOCK (&lock);

  held = false;
  if (path)
    update_file_locked (false);
}

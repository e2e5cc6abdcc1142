/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file.
 *
 * Each new state is a new file beside it that is moved over it, so that a
 * reader sees one state or the next.  When that fails, what the file says of
 * some export could be stale: it is emptied in place, and if even that fails,
 * removed.
 *
 * No client sees its write acknowledged while a stale sum can still come back
 * after a crash: a change waits, before the plugin is told of it, until the
 * sums that it makes wrong are gone from the file, and the file and its
 * directory are on the disk.  A sum that is new need not survive a crash.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
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

/* Set by report_start. */
static char *path, *new_path;   /* of the file, and of the one to replace it */
static int directory = -1;      /* in which they are */
static mode_t mode;             /* of the file */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct report_line *lines, **lines_tail = &lines;
static uint64_t said;           /* how often anything was said */
static bool writing;            /* a thread writes, without the lock */
static pthread_cond_t written_changed = PTHREAD_COND_INITIALIZER;
/* Changed with the lock, read without: of SAID, what is in the file, and when
 * the last sum was withdrawn.
 */
static uint64_t written, withdrawn;

/* Keep the directory open: it must be synced, by whatever user. */
static int
open_directory (void)
{
  char *copy = strdup (path);

  if (!copy) {
    nbdkit_error ("blkhash: %m");
    return -1;
  }
  directory = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory == -1)
    nbdkit_error ("blkhash-file: %s: cannot open its directory: %m", path);
  free (copy);
  return directory == -1 ? -1 : 0;
}

int
report_start (void)
{
  struct stat st;
  int fd;

  if (!params.file)
    return 0;
  fd = open (params.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY |
             O_NONBLOCK, 0666);
  /* What an earlier server said must not come back after a crash. */
  if (fd == -1 || fstat (fd, &st) == -1 ||
      (S_ISREG (st.st_mode) && fsync (fd) == -1)) {
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
  if (!path || asprintf (&new_path, "%s.blkhash-new", path) == -1 ||
      open_directory () == -1)
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
  if (directory != -1)
    close (directory);
}

/* ---- Writing, without the lock ---- */

static int
write_text (int fd, const char *text, bool sync)
{
  FILE *out = fdopen (fd, "w");

  if (!out) {
    close (fd);
    return -1;
  }
  if (fputs (text, out) == EOF || fflush (out) == EOF ||
      (sync && fsync (fd) == -1)) {
    int err = errno;

    fclose (out);
    errno = err;
    return -1;
  }
  return fclose (out) == EOF ? -1 : 0;
}

/* Not all file systems can sync a directory, or have to. */
static int
sync_directory (void)
{
  return fsync (directory) == -1 && errno != EINVAL && errno != ENOTSUP ? -1
                                                                         : 0;
}

/* A file that is not to come back, whatever became of its name. */
static void
empty_file (int fd)
{
  if (fd == -1)
    return;
  if (ftruncate (fd, 0) == -1 || fsync (fd) == -1)
    nbdkit_error ("blkhash: cannot empty what was %s: %m", path);
}

static int
replace_file (const char *text, bool sync)
{
  int fd = open_new (), old, r = 0;

  if (fd == -1)
    return -1;
  old = open (path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (write_text (fd, text, sync) == -1 || rename (new_path, path) == -1) {
    r = errno;
    unlink (new_path);
  }
  else if (sync && sync_directory () == -1) {
    r = errno;
    empty_file (old);
  }
  if (old != -1)
    close (old);
  errno = r;
  return r ? -1 : 0;
}

/* TEXT is NULL when there was no memory for it. */
static void
write_file (const char *text, bool sync)
{
  int fd;

  if (!text)
    errno = ENOMEM;
  else if (replace_file (text, sync) == 0)
    return;
  nbdkit_error ("blkhash: cannot write %s: %m", path);
  fd = open (path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
  if (fd != -1) {
    fsync (fd);
    close (fd);
  }
  else if ((unlink (path) == -1 && errno != ENOENT) || sync_directory () == -1)
    nbdkit_error ("blkhash: cannot remove %s, it may be wrong now: %m", path);
}

/* ---- What is to be written ---- */

/* In the file are all lines; on stderr comes what was not printed yet. */
static bool
is_to_be_written (const struct report_line *line)
{
  return line->text && (path || !line->printed);
}

/* What is to be written, in one string.  NULL: no memory. */
static char *
join_lines_locked (void)
{
  struct report_line *line;
  char *text, *end;
  size_t len = 1;

  for (line = lines; line; line = line->next)
    len += is_to_be_written (line) ? strlen (line->text) : 0;
  text = end = malloc (len);
  if (!text)
    return NULL;
  *text = '\0';
  for (line = lines; line; line = line->next)
    if (is_to_be_written (line)) {
      end = stpcpy (end, line->text);
      line->printed = true;
    }
  return text;
}

/* Lets go of the lock while it writes. */
static void
write_state_locked (void)
{
  char *text = join_lines_locked ();
  bool sync = withdrawn > written;
  uint64_t version = said;

  writing = true;
  pthread_mutex_unlock (&lock);
  if (path)
    write_file (text, sync);
  else if (text)
    fputs (text, stderr);
  else
    nbdkit_error ("blkhash: no memory for the result");
  free (text);
  pthread_mutex_lock (&lock);
  writing = false;
  __atomic_store_n (&written, version, __ATOMIC_RELEASE);
  pthread_cond_broadcast (&written_changed);
}

static void
write_until_locked (uint64_t version)
{
  while (written < version)
    if (writing)
      pthread_cond_wait (&written_changed, &lock);
    else
      write_state_locked ();
}

void
report_write (void)
{
  SCOPED_LOCK (&lock);

  write_until_locked (said);
}

void
report_await_withdrawals (void)
{
  if (__atomic_load_n (&withdrawn, __ATOMIC_ACQUIRE) <=
      __atomic_load_n (&written, __ATOMIC_ACQUIRE))
    return;

  SCOPED_LOCK (&lock);
  write_until_locked (withdrawn);
}

/* ---- What is said ---- */

/* Takes TEXT over. */
static void
say (struct report_line *line, char *text, bool is_sum)
{
  SCOPED_LOCK (&lock);

  if (!line->listed) {
    *lines_tail = line;
    lines_tail = &line->next;
    line->listed = true;
  }
  said++;
  if (line->is_sum)
    __atomic_store_n (&withdrawn, said, __ATOMIC_RELEASE);
  free (line->text);
  line->text = text;
  line->is_sum = is_sum;
  line->printed = false;
}

/* No memory to say it: then at least nothing stale is said. */
static void
say_or_withdraw (struct report_line *line, char *text, bool is_sum)
{
  if (!text)
    nbdkit_error ("blkhash: no memory for the result");
  say (line, text, is_sum && text);
}

void
report_sum (struct report_line *line, const char *name,
            const unsigned char *md, size_t len)
{
  char *sum = sum_line (params.hash, md, len, name, params.tag, true);
  char *text = NULL;

  if (sum && asprintf (&text, "%s\n", sum) == -1)
    text = NULL;
  free (sum);
  say_or_withdraw (line, text, true);
}

void
report_incomplete (struct report_line *line, const char *name,
                   const char *why)
{
  char *escaped = sum_line_escape (name);
  char *text = NULL;

  if (escaped &&
      asprintf (&text, "# incomplete %s: %s\n", escaped, why) == -1)
    text = NULL;
  free (escaped);
  say_or_withdraw (line, text, false);
}

void
report_withdraw (struct report_line *line)
{
  say (line, NULL, false);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * FILE.state, beside an unfinished manifest.
 *
 * The file consists of lines of text.  The lines of the identity are not
 * parsed, but compared as text.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/memstream.h"
#include "io/new-file.h"
#include "io/read.h"
#include "job/state.h"
#include "util/error.h"

#define FIRST_LINE "blksum-state 1\n"
#define MAX_SIZE (4 * 1024 * 1024) /* bytes; one line per file of an image */

char *
state_path_of (const char *manifest)
{
  char *path;

  return asprintf (&path, "%s.state", manifest) == -1 ? NULL : path;
}

/* ---- Reading ---- */

/* Returns the text of the state file FD, or NULL with errno set: EFBIG if it is
 * not a regular file, is too large, or has a NUL byte.
 */
static char *
read_text (int fd)
{
  const struct read_file file = { .fd = fd, .direct_fd = -1 };
  struct stat st;
  char *text;
  int err = EFBIG;

  if (fstat (fd, &st) == -1)
    return NULL;
  if (S_ISREG (st.st_mode) && st.st_size < MAX_SIZE) {
    text = calloc (1, st.st_size + 1);
    err = text ? read_range (&file, text, st.st_size, st.st_size, 0) : ENOMEM;
    if (err == 0 && strlen (text) == (size_t) st.st_size)
      return text;
    free (text);
  }
  errno = err > 0 ? err : EFBIG;
  return NULL;
}

/* Returns the value in LINE, after KEY and ": ", or NULL if LINE has a
 * different key.
 */
static const char *
value_of (const char *line, const char *key)
{
  size_t len = strlen (key);

  if (strncmp (line, key, len) != 0 || strncmp (line + len, ": ", 2) != 0)
    return NULL;
  return line + len + 2;
}

static bool
is_identity (const char *line)
{
  return value_of (line, "format") || value_of (line, "operand") ||
    value_of (line, "file") || value_of (line, "device") ||
    value_of (line, "assumed");
}

/* Parse LINE, which has no newline.  An unknown key is an error, because it can
 * mean that the state must not be used.
 */
static bool
parse_line (struct state *state, FILE *identity, const char *line)
{
  const char *value;

  if (is_identity (line))
    return fprintf (identity, "%s\n", line) > 0;
  value = value_of (line, "journal");
  if (value && !state->journal && strlen (value) == STATE_ID_DIGITS)
    return (state->journal = strdup (value)) != NULL;
  value = value_of (line, "sum");
  if (value) {                  /* a later sum replaces it */
    free (state->sum);
    return (state->sum = strdup (value)) != NULL;
  }
  if (!value_of (line, "untrusted"))
    return false;
  state->untrusted = true;
  return true;
}

/* A last line without a newline was written only partially, and is ignored.
 * Returns false if the text is not valid; or, with errno ENOMEM, if there is no
 * memory.
 */
static bool
parse (struct state *state, char *text)
{
  size_t len;
  FILE *identity = open_memstream (&state->identity, &len);
  bool valid = identity && strncmp (text, FIRST_LINE, strlen (FIRST_LINE)) == 0;
  char *end;

  if (!identity)
    return false;
  for (text += valid ? strlen (FIRST_LINE) : 0;
       valid && (end = strchr (text, '\n')); text = end + 1) {
    *end = '\0';
    valid = parse_line (state, identity, text);
  }
  if (!memstream_close (identity, &state->identity))
    return false;
  return valid && state->journal && *state->identity;
}

/* Returns 1, or 0 if the file is not a state file, or -1 with errno set. */
static int
read_state (struct state *state, int fd)
{
  char *text = read_text (fd);
  bool valid;

  if (!text)
    return errno == EFBIG ? 0 : -1;
  errno = 0;
  valid = parse (state, text);
  free (text);
  return valid ? 1 : errno == ENOMEM ? -1 : 0;
}

static int
refuse (const char *name, struct error *error)
{
  return error_set (error, "'%s' is not a state file of this version of "
                    "blksum: remove it to start over", name);
}

int
state_read (struct state *state, const char *path, struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                       O_NOFOLLOW), r;

  *state = (struct state) { .journal = NULL };
  if (fd == -1 && errno == ENOENT)
    return 0;
  if (fd == -1 && errno != ELOOP)
    return error_errno (error, errno, "cannot open %s", path);
  r = fd == -1 ? 0 : read_state (state, fd);
  if (r == -1)
    error_errno (error, errno, "cannot read %s", path);
  if (fd != -1)
    close (fd);
  if (r == 1)
    return 1;
  state_destroy (state);
  return refuse (path, error);
}

void
state_destroy (struct state *state)
{
  free (state->journal);
  free (state->identity);
  free (state->sum);
  *state = (struct state) { .journal = NULL };
}

/* ---- Writing ---- */

/* Returns 0, or an errno value. */
static int
write_text (int fd, const char *text)
{
  size_t len = strlen (text), done = 0;

  while (done < len) {
    ssize_t n = write (fd, text + done, len - done);

    if (n == -1 && errno != EINTR)
      return errno;
    if (n > 0)
      done += n;
  }
  return 0;
}

/* Returns the text of STATE, or NULL if there is no memory. */
static char *
format (const struct state *state)
{
  const char *sum = state->sum;
  char *text;

  return asprintf (&text, FIRST_LINE "journal: %s\n%s%s%s%s%s", state->journal,
                   state->identity, state->untrusted ? "untrusted: yes\n" : "",
                   sum ? "sum: " : "", sum ? sum : "", sum ? "\n" : "") == -1
    ? NULL : text;
}

static int
check_replaced (int fd, const char *name, const void *opaque,
                struct error *error)
{
  struct state state = { .journal = NULL };
  int r = read_state (&state, fd);

  (void) opaque;
  state_destroy (&state);
  return r == 1 ? 0 : r == -1
    ? error_errno (error, errno, "cannot read %s", name)
    : refuse (name, error);
}

int
state_write (const struct state *state, const char *path,
             struct error *error)
{
  char *text = format (state);
  struct new_file file;
  int err, r = -1;

  if (!text)
    return error_errno (error, ENOMEM, "cannot create %s", path);
  if (new_file_open (&file, path, error) == 0) {
    err = write_text (file.fd, text);
    r = err ? error_errno (error, err, "cannot write %s", path)
            : new_file_publish (&file, check_replaced, NULL, error);
    new_file_close (&file);
  }
  free (text);
  return r;
}

/* The file is replaced.  Rejected: to append a line, of which a crash can leave
 * a part, or zeros.
 */
int
state_add_sum (const char *path, const char *hex, struct error *error)
{
  struct state state;
  int r = state_read (&state, path, error);

  if (r == 0)
    return error_errno (error, ENOENT, "cannot open %s", path);
  if (r == -1)
    return -1;
  free (state.sum);
  state.sum = strdup (hex);
  r = state.sum ? state_write (&state, path, error)
                : error_errno (error, ENOMEM, "cannot create %s", path);
  state_destroy (&state);
  return r;
}

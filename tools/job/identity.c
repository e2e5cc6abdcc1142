/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/memstream.h"
#include "io/file.h"
#include "io/files.h"
#include "job/identity.h"
#include "source/source.h"
#include "util/error.h"

#define SECOND 1000000000LL     /* ns */
#define AGE 2                   /* seconds: older times are trusted */

/* ---- Texts ---- */

static void
print_file (FILE *out, const struct stat *st)
{
  if (S_ISBLK (st->st_mode))
    fprintf (out, "device: %ju\n", (uintmax_t) st->st_rdev);
  else
    fprintf (out, "file: %ju %ju %jd %jd.%09ld %jd.%09ld\n",
             (uintmax_t) st->st_dev, (uintmax_t) st->st_ino,
             (intmax_t) st->st_size, (intmax_t) st->st_mtim.tv_sec,
             (long) st->st_mtim.tv_nsec, (intmax_t) st->st_ctim.tv_sec,
             (long) st->st_ctim.tv_nsec);
}

static void
update_last_modified (struct identity *identity, const struct timespec *time)
{
  struct timespec *last_modified = &identity->last_modified;

  if (last_modified->tv_sec < time->tv_sec ||
      (last_modified->tv_sec == time->tv_sec &&
       last_modified->tv_nsec < time->tv_nsec))
    *last_modified = *time;
}

static void
print_files (FILE *out, struct identity *identity, const struct files *files)
{
  const struct file *file;

  identity->detects_changes = !files->remote;
  for (file = files->first; file; file = file->next) {
    print_file (out, &file->st);
    if (file_is_block_device (file))
      identity->detects_changes = false;
    else {
      update_last_modified (identity, &file->st.st_mtim);
      update_last_modified (identity, &file->st.st_ctim);
    }
  }
}

int
identity_init (struct identity *identity, const struct source *source,
               struct error *error)
{
  const struct files *files = source->files;
  size_t len;
  FILE *out;

  *identity = (struct identity) { .detects_changes = false };
  out = open_memstream (&identity->text, &len);
  if (!out)
    return error_errno (error, errno, "cannot hash");
  fprintf (out, "format: %s\n", source->format);
  if (files)
    print_files (out, identity, files);
  if (!identity->detects_changes)
    fputs ("assumed: unchanged\n", out);
  if (memstream_close (out, &identity->text))
    return 0;
  identity_destroy (identity);
  return error_errno (error, ENOMEM, "cannot hash");
}

void
identity_destroy (struct identity *identity)
{
  free (identity->text);
  identity->text = NULL;
}

/* Returns the length of the part of LINE that identifies the file, which
 * excludes its size and times.
 */
static size_t
file_id_length (const char *line)
{
  size_t len = strcspn (line, "\n");
  const char *end = line;
  unsigned spaces;

  if (strncmp (line, "file: ", 6) != 0)
    return len;
  for (spaces = 0; end < line + len && spaces < 3; end++)
    spaces += *end == ' ';
  return end - line;
}

bool
identity_is_of_same_files (const char *a, const char *b)
{
  while (*a && *b) {
    size_t len = file_id_length (a);

    if (len != file_id_length (b) || memcmp (a, b, len) != 0)
      return false;
    a += strcspn (a, "\n") + 1;
    b += strcspn (b, "\n") + 1;
  }
  return *a == *b;
}

/* ---- Times ---- */

long long
identity_wait (const struct identity *identity)
{
  const struct timespec *last_modified = &identity->last_modified;
  struct timespec now;
  long long age;

  clock_gettime (CLOCK_REALTIME, &now);
  if (now.tv_sec - last_modified->tv_sec > AGE + 1)
    return 0;
  if (last_modified->tv_sec - now.tv_sec > 1)
    return -1;
  age = (now.tv_sec - last_modified->tv_sec) * SECOND + now.tv_nsec -
    last_modified->tv_nsec;
  if (age < 0)
    return -1;
  return age > AGE * SECOND ? 0 : AGE * SECOND + 1 - age;
}

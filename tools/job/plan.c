/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plan gets its name by link(2), when it is complete.  So of many processes
 * that start at once, on any host, one writes the plan, and all use it: each
 * reads it again, also if link failed, because over NFS that can be said of a
 * link that was made.
 *
 * A process compares the plan that it would write with the one that exists,
 * byte for byte, so a plan needs no parser beyond the values that a process can
 * take from it.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "../lib/manifest/manifest.h"
#include "blkhash-manifest.h"
#include "io/file.h"
#include "io/new-file.h"
#include "job/plan.h"
#include "source/source.h"
#include "util/error.h"
#include "util/ranges.h"

#define MAX_TEXT (1024 * 1024)  /* bytes; more than a long name, or the files of
                                 * a long backing chain, take */
#define SECOND 1000000000LL     /* ns */
#define AGE 2                   /* seconds: older times are trusted */

/* ---- The text ---- */

static void
print_time (FILE *out, const struct timespec *time)
{
  fprintf (out, " %jd.%09ld", (intmax_t) time->tv_sec, (long) time->tv_nsec);
}

static void
print_state (FILE *out, const struct source *source, const char *name)
{
  const struct file *file = source->files ? source->files->first : NULL;

  fprintf (out, "format: %s\n", source->format);
  if (name)
    fprintf (out, "state: %s\n", name);
  for (; file; file = file->next) {
    fprintf (out, "file: %" PRIu64, file->size);
    if (!name) {
      fprintf (out, " %ju", (uintmax_t) file->st.st_ino);
      print_time (out, &file->st.st_mtim);
      print_time (out, &file->st.st_ctim);
    }
    fputc ('\n', out);
  }
}

int
plan_format (const struct blkhash_opts *opts, uint32_t parts,
             const struct source *source, const char *name, char **text,
             struct error *error)
{
  char tag[BLKHASH_MAX_TAG_SIZE] = "";
  size_t len;
  FILE *out = open_memstream (text, &len);

  if (!out)
    return error_errno (error, errno, "cannot hash");
  blkhash_opts_get_tag (opts, tag, sizeof tag);
  fprintf (out, "blkhash-plan 1\nsum: %s\nsize: %" PRIu64 "\nparts: %" PRIu32
           "\n", tag, source->size, parts);
  print_state (out, source, name);
  return memstream_close (out, text) ? 0
    : error_errno (error, ENOMEM, "cannot hash");
}

/* ---- Reading ---- */

/* Returns the text of a file of at most MAX_TEXT bytes, or NULL with the reason
 * in ERROR.
 */
static char *
read_text (int fd, const char *dir, struct error *error)
{
  char *text = malloc (MAX_TEXT + 1);
  size_t len = 0;
  ssize_t n = -1;

  while (text && len < MAX_TEXT) {
    n = read (fd, text + len, MAX_TEXT - len);
    if (n == 0 || (n == -1 && errno != EINTR))
      break;
    len += MAX (n, 0);
  }
  if (n == 0 && !memchr (text, '\0', len)) {
    text[len] = '\0';
    return text;
  }
  if (n == -1)
    error_errno (error, errno, "cannot read %s/plan", dir);
  else
    error_set (error, "%s/plan is not a plan", dir);
  free (text);
  return NULL;
}

/* Parse "KEY: NUMBER\n" at *TEXT, which is moved behind it. */
static bool
parse_number (const char **text, const char *key, uint64_t max, uint64_t *value)
{
  size_t len = strlen (key);
  const char *end;

  if (strncmp (*text, key, len) != 0)
    return false;
  end = number_parse (*text + len, value);
  if (!end || *end != '\n' || *value > max)
    return false;
  *text = end + 1;
  return true;
}

static bool
parse (struct plan *plan)
{
  static const char start[] = "blkhash-plan 1\nsum: ";
  char tag[BLKHASH_MAX_TAG_SIZE] = "";
  const char *text = plan->text;
  uint64_t parts;
  size_t len;

  if (strncmp (text, start, strlen (start)) != 0)
    return false;
  text += strlen (start);
  len = strcspn (text, "\n");
  if (len >= sizeof tag || text[len] != '\n')
    return false;
  memcpy (tag, text, len);
  text += len + 1;
  if (!parse_number (&text, "size: ", UINT64_MAX - 1, &plan->size) ||
      !parse_number (&text, "parts: ", PART_MAX, &parts) || parts == 0)
    return false;
  plan->parts = parts;
  plan->opts = blkhash_opts_from_tag (tag);
  return plan->opts != NULL;
}

/* Store the SHA-256 of the text. */
static int
set_id (struct plan *plan, struct error *error)
{
  struct digest *digest = digest_create ("sha256");
  struct digest_ctx *ctx = digest ? digest_ctx_create (digest) : NULL;
  unsigned char md[PLAN_ID_SIZE / 2];
  bool done = ctx &&
    digest_message (ctx, plan->text, strlen (plan->text), md) == 0;

  digest_ctx_free (ctx);
  digest_free (digest);
  if (!done)
    return error_set (error, "cannot compute SHA-256");
  sum_line_hex (md, sizeof md, plan->id);
  return 0;
}

void
plan_destroy (struct plan *plan)
{
  blkhash_opts_free (plan->opts);
  free (plan->text);
  *plan = (struct plan) { .text = NULL };
}

enum answer
plan_read (struct plan *plan, const char *dir, struct error *error)
{
  char *path;
  int fd;

  *plan = (struct plan) { .text = NULL };
  if (asprintf (&path, "%s/plan", dir) == -1)
    return error_errno (error, ENOMEM, "cannot hash");
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  free (path);
  if (fd == -1)
    return errno == ENOENT ? ANSWER_NO
      : error_errno (error, errno, "cannot open %s/plan", dir);
  plan->text = read_text (fd, dir, error);
  close (fd);
  if (!plan->text)
    return ANSWER_FAILED;
  if (!parse (plan))
    error_set (error, "%s/plan is not a plan that this version can read", dir);
  else if (set_id (plan, error) == 0)
    return ANSWER_YES;
  plan_destroy (plan);
  return ANSWER_FAILED;
}

bool
plan_has (const struct plan *plan, const struct blkhash_manifest_reader *reader)
{
  return strcmp (manifest_reader_plan (reader), plan->id) == 0 &&
    blkhash_manifest_reader_size (reader) == plan->size &&
    blkhash_opts_same_hash (blkhash_manifest_reader_opts (reader), plan->opts);
}

/* ---- Writing ---- */

/* Create the file PATH in DIR.  Until it is linked it is at ".plan.HOST...",
 * because names that begin with a dot do not count as files of others.  Returns
 * 0, or an errno value.
 */
static int
create (const char *dir, const char *path, const char *text)
{
  char host[65] = "", *prefix;
  struct replacement file;
  int err = 0;

  gethostname (host, sizeof host - 1);
  host[strcspn (host, "/")] = '\0';
  if (asprintf (&prefix, "%s/.plan.%s", dir, host) == -1)
    return ENOMEM;
  if (new_file_create (&file, path, prefix) == -1)
    err = errno;
  else {
    if (replacement_write (&file, text) == -1 || replacement_link (&file) == -1)
      err = errno;
    new_file_close (&file);
  }
  free (prefix);
  return err;
}

int
plan_write (const char *dir, const char *text, struct error *error)
{
  struct stat st;
  char *path;
  int err;

  if (asprintf (&path, "%s/plan", dir) == -1)
    return error_errno (error, ENOMEM, "cannot hash");
  err = create (dir, path, text);
  if (err && stat (path, &st) == 0)
    err = 0;
  if (err)
    error_errno (error, err, "cannot create %s", path);
  else
    new_file_sync_directory (path, error);
  free (path);
  return error_is_set (error) ? -1 : 0;
}

/* ---- A failed audit ---- */

enum job_status
plan_check_failed (const char *dir, struct error *error)
{
  struct stat st;
  char *path;
  int r, err;

  if (asprintf (&path, "%s/failed", dir) == -1)
    return error_errno (error, ENOMEM, "cannot hash");
  r = lstat (path, &st);
  err = errno;
  free (path);
  if (r == 0) {
    error_set (error, "a part differed from the image, says %s/failed; use a "
               "new directory", dir);
    return JOB_DIFFERS;
  }
  return err == ENOENT ? JOB_DONE
    : error_errno (error, err, "cannot read %s/failed", dir);
}

int
plan_set_failed (const char *dir, const char *text, struct error *error)
{
  char *path;
  int fd, err = 0;

  if (asprintf (&path, "%s/failed", dir) == -1)
    return error_errno (error, ENOMEM, "cannot write %s/failed", dir);
  fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd == -1 || dprintf (fd, "%s\n", text) < 0 || fsync (fd) == -1)
    err = errno;
  if (fd != -1)
    close (fd);
  if (err)
    error_errno (error, err, "cannot write %s", path);
  else
    new_file_sync_directory (path, error);
  free (path);
  return error_is_set (error) ? -1 : 0;
}

/* ---- Comparing ---- */

/* Does the line A of a file differ from B only by the inode?  The inode is the
 * second number.
 */
static bool
differs_by_inode (const char *a, const char *b)
{
  size_t n = strlen ("file: ");

  if (strncmp (a, "file: ", n) != 0 || strncmp (b, "file: ", n) != 0)
    return false;
  n += strspn (a + n, "0123456789");
  if (strncmp (a, b, n + 1) != 0 || a[n] != ' ')
    return false;
  a += n + 1 + strspn (a + n + 1, "0123456789");
  b += n + 1 + strspn (b + n + 1, "0123456789");
  n = strcspn (a, "\n");
  return *a == ' ' && n == strcspn (b, "\n") && memcmp (a, b, n) == 0;
}

/* Skip the line of *TEXT, if there is one. */
static void
skip_line (const char **text)
{
  *text += strcspn (*text, "\n");
  *text += **text == '\n';
}

static bool
begins (const char *line, const char *key)
{
  return strncmp (line, key, strlen (key)) == 0;
}

/* The first line that differs is A in the plan in DIR, and B in ours.  Only
 * inodes differ if INODES is set.
 */
static int
refuse (const char *a, const char *b, bool inodes, const char *dir,
        struct error *error)
{
  if (inodes)
    return error_set (error, "only its inode differs from %s/plan; if it is a "
                      "copy, or this host sees other inodes, use --state NAME "
                      "and a new directory", dir);
  if (begins (a, "file: ") && begins (b, "file: "))
    return error_set (error, "has changed since %s/plan was written, or is "
                      "another image; use a new directory", dir);
  if (begins (a, "state: ") != begins (b, "state: "))
    return error_set (error, "%s/plan was written %s --state; %s", dir,
                      begins (a, "state: ") ? "with" : "without",
                      begins (a, "state: ") ? "give the same NAME"
                                            : "use a new directory");
  return error_set (error, "%s/plan has \"%.*s\", not \"%.*s\"; use a new "
                    "directory", dir, (int) strcspn (a, "\n"), a,
                    (int) strcspn (b, "\n"), b);
}

int
plan_check (const struct plan *plan, const char *dir, const char *text,
            struct error *error)
{
  const char *a = plan->text, *b = text, *first_a = NULL, *first_b = NULL;
  bool inodes = true;

  for (; *a || *b; skip_line (&a), skip_line (&b)) {
    size_t len = strcspn (a, "\n");

    if (len == strcspn (b, "\n") && memcmp (a, b, len) == 0)
      continue;
    inodes = inodes && differs_by_inode (a, b);
    if (!first_a) {
      first_a = a;
      first_b = b;
    }
  }
  return first_a ? refuse (first_a, first_b, inodes, dir, error) : 0;
}

/* ---- Times ---- */

static long long
wait_for_time (const struct timespec *time, const struct timespec *now)
{
  long long age;

  if (now->tv_sec - time->tv_sec > AGE + 1)
    return 0;
  if (time->tv_sec - now->tv_sec > 1)
    return -1;
  age = (now->tv_sec - time->tv_sec) * SECOND + now->tv_nsec - time->tv_nsec;
  if (age < 0)
    return -1;
  return age > AGE * SECOND ? 0 : AGE * SECOND + 1 - age;
}

long long
plan_wait (const struct source *source)
{
  const struct file *file = source->files->first;
  long long wait = 0;
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  for (; file; file = file->next) {
    long long mtime = wait_for_time (&file->st.st_mtim, &now);
    long long ctime = wait_for_time (&file->st.st_ctim, &now);

    if (mtime < 0 || ctime < 0)
      return -1;
    wait = MAX (wait, MAX (mtime, ctime));
  }
  return wait;
}

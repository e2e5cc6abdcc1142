/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sums in the file that the parameter blkhash-verify-sums names, by
 * the names of exports.
 *
 * A list is what blksum prints.  As in blksum --check, comments and other text
 * are ignored, and a damaged line is an error: nbdkit does not start.  Two
 * different sums of one name are also an error, because only one of them
 * can be right.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/sums.h"
#include "verify/sum-list.h"

#define PARAM "blkhash-verify-sums"

struct entry {
  char *name, *sum;
};

/* Set before the server forks; ordered by name. */
static struct entry *entries;
static size_t nr_entries;

/* Takes ownership of NAME and SUM, which are NULL if there was no memory. */
static int
add_entry (char *name, char *sum)
{
  struct entry *more = realloc (entries,
                                (nr_entries + 1) * sizeof entries[0]);

  if (more)
    entries = more;
  if (more && name && sum) {
    entries[nr_entries++] = (struct entry) { name, sum };
    return 0;
  }
  nbdkit_error ("blkhash-verify: %m");
  free (name);
  free (sum);
  return -1;
}

static int
refuse (const char *path, size_t number, const char *why)
{
  nbdkit_error (PARAM ": %s: line %zu: %s", path, number, why);
  return -1;
}

static int
add_sum (const char *path, size_t number, const struct sums_line *line)
{
  char reason[BLKHASH_MAX_REASON_SIZE], *text;
  struct expected_sum sum;

  if (expected_sum_init (&sum, line, NULL, reason) != 0)
    return refuse (path, number, reason);
  text = sum_line (sum.opts, sum.md, blkhash_opts_get_digest_size (sum.opts),
                   NULL, true, false);
  expected_sum_destroy (&sum);
  return add_entry (strdup (line->name), text);
}

static int
add_line (const char *path, size_t number, char *text, size_t len)
{
  struct sums_line line;

  if (len > 0 && text[len - 1] == '\n')
    text[--len] = '\0';
  if (strlen (text) != len)
    return refuse (path, number, "it has a NUL character");
  sums_line_parse (text, len, &line);
  if (line.type == SUMS_DAMAGED)
    return refuse (path, number, line.why);
  if (line.type != SUMS_SUM)
    return 0;
  return add_sum (path, number, &line);
}

static int
read_lines (const char *path, FILE *in)
{
  char *text = NULL;
  size_t room = 0, number = 1;
  ssize_t len;
  int r = 0;

  errno = 0;
  for (; r == 0 && (len = getline (&text, &room, in)) != -1; number++)
    r = add_line (path, number, text, len);
  free (text);
  if (r == 0 && !feof (in)) {
    nbdkit_error (PARAM ": %s: %m", path);
    r = -1;
  }
  return r;
}

static int
compare_names (const void *a, const void *b)
{
  const struct entry *x = a, *y = b;

  return strcmp (x->name, y->name);
}

/* Refuse different sums of one name.  The same line may be repeated. */
static int
check_names (const char *path)
{
  size_t i;

  if (nr_entries > 0)
    qsort (entries, nr_entries, sizeof entries[0], compare_names);
  for (i = 1; i < nr_entries; i++)
    if (strcmp (entries[i - 1].name, entries[i].name) == 0 &&
        strcmp (entries[i - 1].sum, entries[i].sum) != 0) {
      nbdkit_error (PARAM ": %s: two sums of %s", path, entries[i].name);
      return -1;
    }
  return 0;
}

int
sum_list_load (const char *path)
{
  FILE *in = fopen (path, "re");
  int r;

  if (!in) {
    nbdkit_error (PARAM ": %s: %m", path);
    return -1;
  }
  r = read_lines (path, in);
  fclose (in);
  return r == -1 ? -1 : check_names (path);
}

void
sum_list_free (void)
{
  while (nr_entries > 0) {
    nr_entries--;
    free (entries[nr_entries].name);
    free (entries[nr_entries].sum);
  }
  free (entries);
  entries = NULL;
}

const char *
sum_list_find (const char *name)
{
  struct entry key = { .name = (char *) name }, *found = NULL;

  if (nr_entries > 0)
    found = bsearch (&key, entries, nr_entries, sizeof key, compare_names);
  return found ? found->sum : NULL;
}

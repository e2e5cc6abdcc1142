/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, their manifests, and the sums of these.  See
 * verify-export.h.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/clock.h"
#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest-index.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"

/* ---- The directory of manifests ----
 *
 * Clients choose the names, so a name must not lead out of the directory: it
 * must be one component of a path, and the manifest must not be a symbolic
 * link.
 */

static const char *directory;
static int directory_fd = -1;

/* Open the directory PATH, before the server forks. */
static int
manifest_dir_open (const char *path)
{
  directory = path;
  directory_fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_fd != -1)
    return 0;
  nbdkit_error ("blkhash-verify-manifest-dir: %s: %m", path);
  return -1;
}

static void
manifest_dir_close (void)
{
  if (directory_fd != -1)
    close (directory_fd);
  directory_fd = -1;
}

static bool
is_file_name (const char *name)
{
  return *name != '\0' && strcmp (name, ".") != 0 &&
    strcmp (name, "..") != 0 && !strchr (name, '/');
}

/* The name is printed as JSON, so that it cannot start another line of the log,
 * or control a terminal that shows the log.
 */
static int
refuse_name (const char *name, const char *why)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);

  if (out) {
    json_string (out, name);
    memstream_close (out, &text);
  }
  nbdkit_error ("blkhash-verify-manifest-dir: no export %s: %s",
                text ? text : "", why);
  free (text);
  return -1;
}

/* Open the manifest of the export NAME, which a client chose.  Returns its file
 * descriptor, and stores its path, which the caller frees; or -1 after
 * nbdkit_error.
 */
static int
manifest_dir_open_file (const char *name, char **path)
{
  const char *file;
  int fd;

  if (!is_file_name (name))
    return refuse_name (name, "it cannot be the name of a file");
  if (asprintf (path, "%s/%s.blkm", directory, name) == -1) {
    *path = NULL;
    return refuse_name (name, strerror (ENOMEM));
  }
  file = *path + strlen (directory) + 1;
  fd = openat (directory_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
               O_NOCTTY | O_NONBLOCK);
  if (fd != -1)
    return fd;
  refuse_name (name, errno == ELOOP ? "its manifest is a symbolic link"
                                    : strerror (errno));
  free (*path);
  *path = NULL;
  return -1;
}

/* ---- The list of sums ----
 *
 * A list is what blksum prints.  As in blksum --check, comments and other text
 * are ignored, and a damaged line is an error: nbdkit does not start.  Two
 * different sums of one name are also an error, because only one of them can
 * be right.
 */

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

/* ---- Exports ---- */

#define MAX_OPEN 64             /* manifests that are in use or being read */
#define MAX_EXPORTS 10000

pthread_mutex_t verify_exports_lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct verify_export *exports;
static uint64_t generation;

/* A thread reads the manifest of the export NAME, without verify_exports_lock.
 */
struct opening {
  struct opening *next;
  const char *name;
};

static struct opening *openings; /* protected by verify_exports_lock */
static pthread_cond_t opening_ended;
static pthread_cond_t pass_ended = PTHREAD_COND_INITIALIZER;

static int
no_memory (void)
{
  nbdkit_error ("blkhash-verify: %m");
  return -1;
}

static int
make_line (struct verify_export *export)
{
  const struct manifest_index *index = export->disk->index;
  char *sum = sum_line (manifest_index_opts (index),
                        manifest_index_sum (index), export->disk->leaf_size,
                        export->name, true, true);

  if (!sum || asprintf (&export->line, "%s\n", sum) == -1)
    export->line = NULL;
  free (sum);
  return export->line ? 0 : no_memory ();
}

/* ---- Opening ---- */

static void
free_export (struct verify_export *export)
{
  if (!export)
    return;
  verify_disk_free (export->disk);
  free (export->name);
  free (export->path);
  free (export->line);
  free (export);
}

static int
open_file (struct verify_export *export)
{
  int fd;

  if (verify_params.manifest_dir)
    return manifest_dir_open_file (export->name, &export->path);
  export->path = strdup (verify_params.manifest);
  if (!export->path)
    return no_memory ();
  fd = open (export->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd == -1)
    nbdkit_error ("blkhash-verify-manifest: %s: %m", export->path);
  return fd;
}

/* Only outputs need the number of zeros, and only the result the sum. */
static unsigned
disk_flags (void)
{
  unsigned flags = verify_params.file ? DISK_COMPUTE : 0;

  if (verify_params.manifest_dir)
    flags |= DISK_FOR_CLIENT;
  if (verify_params_have_output ())
    flags |= DISK_COUNT;
  return flags;
}

static int
open_disk (struct verify_export *export)
{
  const char *sum = verify_params.sums ? sum_list_find (export->name)
                                       : verify_params.sum;
  int fd = open_file (export);

  if (fd == -1)
    return -1;
  if (!sum) {
    nbdkit_error ("blkhash-verify-sums: no sum for the export of %s",
                  export->path);
    close (fd);
    return -1;
  }
  export->disk = verify_disk_open (fd, export->path, sum);
  return export->disk ? 0 : -1;
}

static int
load (struct verify_export *export)
{
  if (verify_disk_load (export->disk, disk_flags ()) == -1)
    return -1;
  return verify_params_have_output () ? make_line (export) : 0;
}

/* Open the manifest of the export NAME, and read its header.  Returns NULL
 * after nbdkit_error.
 */
static struct verify_export *
make_export (const char *name)
{
  struct verify_export *export = calloc (1, sizeof *export);

  if (export)
    export->name = strdup (name);
  if (!export || !export->name)
    no_memory ();
  else if (open_disk (export) == 0)
    return export;
  free_export (export);
  return NULL;
}

int
verify_exports_open (void)
{
  clock_cond_init (&opening_ended);
  if (verify_params.manifest_dir)
    return manifest_dir_open (verify_params.manifest_dir) == -1 ||
      (verify_params.sums && sum_list_load (verify_params.sums) == -1)
      ? -1 : 0;
  exports = make_export (verify_params.name ? verify_params.name : "-");
  if (!exports)
    return -1;
  exports->is_listed = true;
  return load (exports);
}

void
verify_exports_free (void)
{
  while (exports) {
    struct verify_export *export = exports;

    exports = export->next;
    free_export (export);
  }
  manifest_dir_close ();
  verify_disk_forget_manifests (); /* their sums are in the list */
  sum_list_free ();
}

/* ---- Clients ---- */

static struct verify_export *
find_locked (const char *name)
{
  struct verify_export *export = exports;

  while (export && strcmp (export->name, name) != 0)
    export = export->next;
  return export;
}

/* Returns the export NAME, with one more user, if it is in use; or NULL. */
static struct verify_export *
acquire_used_locked (const char *name)
{
  bool has_dir = verify_params.manifest_dir;
  struct verify_export *export = has_dir ? find_locked (name) : exports;

  if (!export || (has_dir && export->users == 0))
    return NULL;
  export->users++;
  return export;
}

static struct verify_export *
acquire_used (const char *name)
{
  SCOPED_LOCK (&verify_exports_lock);

  return acquire_used_locked (name);
}

struct verify_export *
verify_export_acquire (const char *name)
{
  struct verify_export *export = acquire_used (name);

  return export ? export : make_export (name);
}

static bool
may_open_locked (const char *name)
{
  const struct opening *opening;
  const struct verify_export *export;
  unsigned count = 0, open = 0;

  for (export = exports; export; export = export->next) {
    count++;
    open += export->users > 0;
  }
  for (opening = openings; opening; opening = opening->next) {
    count += !find_locked (opening->name);
    open++;
  }
  return open < MAX_OPEN && (count < MAX_EXPORTS || find_locked (name));
}

static bool
is_opening_locked (const char *name)
{
  const struct opening *opening = openings;

  while (opening && strcmp (opening->name, name) != 0)
    opening = opening->next;
  return opening;
}

/* Wait until a manifest was read.  Returns -1 after nbdkit_error if the client
 * of this thread or nbdkit is ending.
 */
static int
wait_for_opening_locked (void)
{
  const uint64_t until = clock_ns () + NS_PER_SECOND / 10;

  return clock_cond_wait (&opening_ended, &verify_exports_lock,
                          until) == ETIMEDOUT ? nbdkit_nanosleep (0, 0) : 0;
}

/* Store in *USED the export of the same name, with one more user, if it is in
 * use; or store NULL, and add OPENING to the list.  Returns -1 after
 * nbdkit_error.
 */
static int
begin_opening (struct opening *opening, struct verify_export **used)
{
  SCOPED_LOCK (&verify_exports_lock);

  while (!(*used = acquire_used_locked (opening->name)) &&
         is_opening_locked (opening->name))
    if (wait_for_opening_locked () == -1)
      return -1;
  if (*used)
    return 0;
  if (!may_open_locked (opening->name)) {
    nbdkit_error ("blkhash-verify-manifest-dir: too many exports are in use");
    return -1;
  }
  opening->next = openings;
  openings = opening;
  return 0;
}

static bool
is_same_disk (const struct verify_export *a, const struct verify_export *b)
{
  return a->line && b->line && strcmp (a->line, b->line) == 0 &&
    a->disk->size == b->disk->size;
}

/* The kept export OLD was opened again, as FRESH.  Move the disk of FRESH to
 * OLD, with the old states of its blocks if it is the same disk, and free FRESH
 * and the old disk.  If the old disk was stopped, the new one is, too.  Returns
 * OLD.
 */
static struct verify_export *
renew_locked (struct verify_export *old, struct verify_export *fresh)
{
  struct verify_export saved = *old;

  if (verify_disk_is_stopped (old->disk))
    verify_disk_stop (fresh->disk);
  if (is_same_disk (old, fresh)) {
    tally_move (&fresh->disk->tally, &old->disk->tally);
    fresh->connected = old->connected;
  }
  *old = *fresh;
  old->next = saved.next;
  old->is_listed = true;
  *fresh = saved;
  free_export (fresh);
  return old;
}

static struct verify_export *
add_locked (struct verify_export *fresh)
{
  struct verify_export *export = find_locked (fresh->name);

  if (export)
    export = renew_locked (export, fresh);
  else {
    export = fresh;
    export->next = exports;
    export->is_listed = true;
    exports = export;
  }
  generation++;
  export->users++;
  return export;
}

/* Remove OPENING from the list.  Add FRESH, unless NULL, to the exports, and
 * return the export, with one more user.
 */
static struct verify_export *
end_opening (struct opening *opening, struct verify_export *fresh)
{
  struct opening **link = &openings;
  SCOPED_LOCK (&verify_exports_lock);

  while (*link != opening)
    link = &(*link)->next;
  *link = opening->next;
  pthread_cond_broadcast (&opening_ended);
  return fresh ? add_locked (fresh) : NULL;
}

int
verify_export_load (struct verify_export **export)
{
  struct verify_export *fresh = *export, *used;
  struct opening opening = { .name = fresh->name };

  if (fresh->is_listed)
    return 0;
  if (begin_opening (&opening, &used) == -1)
    return -1;
  if (used)
    free_export (fresh);
  else
    used = end_opening (&opening, load (fresh) == 0 ? fresh : NULL);
  if (!used)
    return -1;
  *export = used;
  return 0;
}

static void
remove_locked (struct verify_export *export)
{
  struct verify_export **link = &exports;

  while (*link != export)
    link = &(*link)->next;
  *link = export->next;
  free_export (export);
}

void
verify_export_release (struct verify_export *export)
{
  if (!export->is_listed) {
    free_export (export);
    return;
  }

  SCOPED_LOCK (&verify_exports_lock);

  if (--export->users > 0 || !verify_params.manifest_dir)
    return;
  if (verify_params_have_output () || verify_disk_is_stopped (export->disk))
    verify_disk_close (export->disk);
  else
    remove_locked (export);
}

/* A client sees a disk of SIZE bytes.  The disk of an export that is not in use
 * has no cache.
 */
static void
see_size_locked (struct verify_export *export, uint64_t size)
{
  if (export->clients == 0 || size != export->plugin_size) {
    tally_reset (&export->disk->tally);
    if (export->disk->fd != -1)
      block_cache_clear (&export->disk->cache);
  }
  export->plugin_size = size;
}

void
verify_export_begin_client (struct verify_export *export, uint64_t size)
{
  SCOPED_LOCK (&verify_exports_lock);

  export->waiting++;
  while (export->has_pass)
    pthread_cond_wait (&pass_ended, &verify_exports_lock);
  export->waiting--;
  see_size_locked (export, size);
  generation += !export->connected;
  export->connected = true;
  export->clients++;
}

void
verify_export_refuse_client (struct verify_export *export, uint64_t size)
{
  SCOPED_LOCK (&verify_exports_lock);
  struct verify_export *kept = export->is_listed ? export
                                                 : find_locked (export->name);

  if (!kept)
    return;
  see_size_locked (kept, size);
  generation += kept->connected;
  kept->connected = false;
}

void
verify_export_end_client (struct verify_export *export)
{
  SCOPED_LOCK (&verify_exports_lock);

  export->clients--;
}

bool
verify_export_begin_pass (struct verify_export *export)
{
  SCOPED_LOCK (&verify_exports_lock);

  if (export->clients > 0 || export->has_pass)
    return false;
  export->has_pass = true;
  return true;
}

bool
verify_export_must_end_pass (struct verify_export *export)
{
  SCOPED_LOCK (&verify_exports_lock);

  return export->waiting > 0;
}

void
verify_export_end_pass (struct verify_export *export)
{
  SCOPED_LOCK (&verify_exports_lock);

  export->has_pass = false;
  pthread_cond_broadcast (&pass_ended);
}

struct verify_export *
verify_exports_first_locked (void)
{
  return exports;
}

uint64_t
verify_exports_generation_locked (void)
{
  return generation;
}

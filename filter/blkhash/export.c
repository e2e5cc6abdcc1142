/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, their leaf tables, and the baseline.  See
 * export.h.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "../lib/leaves/leaves.h"
#include "blkhash-leaves.h"
#include "blkhash-manifest.h"
#include "blkhash.h"
#include "blkhash/export.h"
#include "blkhash/manifest-save.h"
#include "blkhash/params.h"
#include "blkhash/report.h"

/* The maximum number of blocks of an export; an export with more has no sum.
 * With blocks of 64 KiB this is 128 TiB, and to hash a hole of that size takes
 * about 40 s.  Without a limit, an export of 8 EiB, which costs nothing to
 * serve, would delay the server's exit for weeks.
 */
#define TABLE_MAX_BLOCKS (UINT64_C (1) << 31)

pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__ ((weak)) void
exports_assert_locked (void)
{
}

/* ---- Leaf tables ---- */

/* Limits the bytes of memory for the partial blocks of all exports together. */
static struct pieces_budget budget = { .bound = 64 * 1024 * 1024 };

/* Create a leaf table for an export of SIZE bytes.  Returns NULL with errno. */
static struct blkhash_leaves *
table_new (uint64_t size)
{
  return leaves_new_in_budget (params.hash, size, 0, &budget);
}

/* Returns the reason why this filter cannot update the manifest, or NULL. */
static const char *
why_unsuitable (struct blkhash_manifest_reader *r)
{
  uint64_t size = blkhash_manifest_reader_size (r);

  if (!blkhash_manifest_reader_is_complete (r))
    return "it is the manifest of a part of a disk";
  if (!blkhash_opts_same_hash (blkhash_manifest_reader_opts (r), params.hash))
    return "it has another digest, block size or construction";
  if (size / blkhash_opts_get_block_size (params.hash) > TABLE_MAX_BLOCKS)
    return "it has more than 2^31 blocks";
  return NULL;
}

/* Returns 0, or an errno value.  If the reader R failed,
 * blkhash_manifest_reader_error returns the reason, otherwise an empty string.
 */
static int
load (struct blkhash_manifest_reader *r, struct blkhash_leaves *l)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    err = blkhash_leaves_put_run (l, &run);
    if (err)
      return err;
  }
  return err == ENOENT ? 0 : err;
}

static void
refuse_manifest (const char *why)
{
  nbdkit_error ("blkhash-update: cannot update %s: %s", params.manifest, why);
}

/* Returns the table, or NULL after nbdkit_error. */
static struct blkhash_leaves *
load_suitable (struct blkhash_manifest_reader *r, uint64_t size)
{
  const char *why = why_unsuitable (r);
  struct blkhash_leaves *l = NULL;
  int err;

  if (!why) {
    l = table_new (size);
    err = l ? load (r, l) : errno;
    if (err == 0)
      return l;
    why = blkhash_manifest_reader_error (r);
    if (*why == '\0')
      why = strerror (err);
  }
  refuse_manifest (why);
  blkhash_leaves_free (l);
  return NULL;
}

/* Create a leaf table with the leaves of the manifest in FD, and set *SIZE to
 * the size of the image in bytes.  Returns NULL after nbdkit_error if the
 * manifest is damaged, has a wrong sum, describes only a part of an image, has
 * more than TABLE_MAX_BLOCKS blocks, or has other hash parameters than this
 * filter; or on another error.
 */
static struct blkhash_leaves *
table_load (int fd, uint64_t *size)
{
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct blkhash_manifest_reader *r = NULL;
  struct blkhash_leaves *l = NULL;

  if (lseek (fd, 0, SEEK_SET) == 0)
    r = blkhash_manifest_reader_new (fd, 0, reason, sizeof reason);
  if (r) {
    *size = blkhash_manifest_reader_size (r);
    l = load_suitable (r, *size);
  }
  else
    refuse_manifest (*reason ? reason : strerror (errno));
  blkhash_manifest_reader_free (r);
  return l;
}

/* ---- The baseline ---- */

/* SIZE is set once; exports_lock protects the other members. */
static struct {
  struct blkhash_leaves *leaves; /* NULL: no baseline, or it was taken */
  uint64_t size;                /* of the disk that it describes, bytes */
  bool valid;
  struct report_line line;      /* has no text: see report_keep_manifest */
} baseline;

int
baseline_load (void)
{
  int fd = params.update ? manifest_old () : -1;

  if (fd == -1)
    return 0;
  baseline.leaves = table_load (fd, &baseline.size);
  if (!baseline.leaves)
    return -1;
  baseline.valid = true;
  report_keep_manifest (&baseline.line);
  return 0;
}

void
baseline_after_fork (void)
{
  if (baseline.leaves)
    leaves_adopt (baseline.leaves);
}

bool
baseline_is_valid_locked (void)
{
  return baseline.valid;
}

/* Returns the leaf table of a valid baseline of SIZE bytes, or NULL.  Only the
 * first caller gets the table, and then owns it.
 */
static struct blkhash_leaves *
baseline_take_locked (uint64_t size)
{
  struct blkhash_leaves *taken = baseline.leaves;

  if (!baseline.valid || size != baseline.size)
    return NULL;
  baseline.leaves = NULL;
  return taken;
}

/* Make the baseline invalid.  Returns true if it was valid; then the caller
 * must wait in report_await_withdrawals.
 */
static bool
baseline_withdraw_locked (void)
{
  if (!baseline.valid)
    return false;
  baseline.valid = false;
  report_withdraw (&baseline.line);
  return true;
}

/* ---- Exports by name ---- */

/* Protected by exports_lock. */
static struct export *exports, **exports_tail = &exports;
static void *exports_by_name;   /* root of a tree, see tsearch(3) */
static unsigned nr_exports;
static struct disk shared_disk; /* not used if exports are distinct disks */
static char *default_name;      /* of the plugin's default export */

static int
compare_names (const void *a, const void *b)
{
  const struct export *x = a, *y = b;

  return strcmp (x->name, y->name);
}

struct export *
export_find_locked (const char *name)
{
  struct export key = { .name = (char *) name };
  void *found = tfind (&key, &exports_by_name, compare_names);

  exports_assert_locked ();
  return found ? *(struct export **) found : NULL;
}

struct disk *
exports_disk_locked (const char *name)
{
  struct export *export;

  exports_assert_locked ();
  if (!params.distinct_exports)
    return &shared_disk;
  export = export_find_locked (name);
  return export ? export->disk : NULL;
}

static struct export *
add_export_locked (const char *name)
{
  struct disk *disk = exports_disk_locked (name);
  struct export *export;

  if (nr_exports == EXPORTS_MAX) {
    errno = ENOSPC;
    return NULL;
  }
  export = calloc (1, sizeof *export);
  if (export)
    export->name = strdup (name);
  if (!export || !export->name ||
      !tsearch (export, &exports_by_name, compare_names)) {
    if (export)
      free (export->name);
    free (export);
    errno = ENOMEM;
    return NULL;
  }
  export->disk = disk ? disk : &export->own_disk;
  export->disk->exports++;
  disk_log_position (export->disk, &export->log_seen);
  *exports_tail = export;
  exports_tail = &export->next;
  nr_exports++;
  return export;
}

struct export *
export_get_locked (const char *name)
{
  struct export *export = export_find_locked (name);

  exports_assert_locked ();
  return export ? export : add_export_locked (name);
}

/* Returns the name of the export in the report. */
static const char *
export_shown_name_locked (const struct export *export)
{
  if (*export->name == '\0')
    return params.name ? params.name : "-";
  if (params.name && default_name && strcmp (export->name, default_name) == 0)
    return params.name;
  return export->name;
}

/* ---- Sums ---- */

/* Exports with a sum are in a list, so that a request that changes the disk
 * need not search all exports for them.
 */
static void
link_published_locked (struct export *export)
{
  struct export **head = &export->disk->published;

  export->next_published = *head;
  export->link_published = head;
  if (*head)
    (*head)->link_published = &export->next_published;
  *head = export;
  export->published = true;
}

static void
unlink_published_locked (struct export *export)
{
  *export->link_published = export->next_published;
  if (export->next_published)
    export->next_published->link_published = export->link_published;
  export->published = false;
}

void
export_unknown_locked (struct export *export, const char *why)
{
  exports_assert_locked ();
  report_unknown (&export->line, export_shown_name_locked (export), why);
}

void
export_publish_locked (struct export *export,
                       const unsigned char *md, size_t len, bool has_manifest)
{
  exports_assert_locked ();
  if (!report_sum (&export->line, export_shown_name_locked (export), md, len,
                   has_manifest)) {
    export_unknown_locked (export, "no memory");
    return;
  }
  if (!export->published)
    link_published_locked (export);
  export->modified = false;
  export->bytes_read = 0;
}

/* Remove the sum from the report.  Returns false, without a change, if the
 * export has no sum.
 */
static bool
export_withdraw_locked (struct export *export)
{
  if (!export->published)
    return false;
  report_withdraw (&export->line);
  unlink_published_locked (export);
  return true;
}

bool
exports_withdraw_locked (struct disk *disk, struct export *by,
                         const char *why)
{
  struct export *export;
  bool any = baseline_withdraw_locked ();

  exports_assert_locked ();
  any |= disk->published != NULL;
  if (by)
    export_withdraw_locked (by);
  while ((export = disk->published)) {
    export_withdraw_locked (export);
    export_unknown_locked (export, why);
  }
  return any;
}

void
exports_refute_claims_locked (struct export *by)
{
  char why[CLAIMS_WHY_SIZE];

  exports_assert_locked ();
  claims_why (&by->disk->claims, why);
  disk_log_change (by->disk, NULL, 0, UINT64_MAX);
  exports_withdraw_locked (by->disk, by, why);
  export_unknown_locked (by, why);
}

bool
exports_have_sum_locked (const struct disk *disk)
{
  exports_assert_locked ();
  return disk->published || baseline_is_valid_locked ();
}

/* Find the first part of the range *OFFSET to *END that was not changed through
 * this server, so that it should still have the content of the baseline: none
 * of its blocks is in disk->changed.  Set *OFFSET and *END to this part.
 * Returns false if there is no such part.
 */
static bool
find_baseline_range (struct disk *disk, uint64_t *offset, uint64_t *end)
{
  uint32_t block_size = blkhash_opts_get_block_size (params.hash);
  uint64_t last = *end;

  for (; *offset < last; *offset = *end)
    if (!block_set_contains (&disk->changed, block_size, *offset, last, end))
      return true;
  return false;
}

void
export_check_baseline_locked (struct export *export,
                              uint64_t offset, uint64_t len)
{
  uint64_t end = offset + len;

  exports_assert_locked ();
  if (!export->baseline || export->broken)
    return;
  if (export->disk->changed.all)
    export->broken = "no memory";
  else if (find_baseline_range (export->disk, &offset, &end)) {
    snprintf (export->mismatch, sizeof export->mismatch,
              "%" PRIu64 " bytes at %" PRIu64 " differ from the manifest",
              end - offset, offset);
    export->broken = export->mismatch;
  } else
    return;
  export_unknown_locked (export, export->broken);
}

/* Replace the table by the baseline, or by an empty table, because the export
 * is new or broken, or has a new size.  Returns true if a sum was withdrawn.
 */
static bool
reset_locked (struct export *export, uint64_t size)
{
  blkhash_leaves_free (export->leaves);
  export->leaves = baseline_take_locked (size);
  export->baseline = export->leaves != NULL;
  if (!export->leaves)
    export->leaves = table_new (size);
  export->evidence = claims_evidence (&export->disk->claims, size);
  export->broken = export->leaves && export->evidence ? NULL : "no memory";
  disk_log_position (export->disk, &export->log_seen);
  export->size = size;
  export->modified = false;
  export->bytes_read = 0;
  return export_withdraw_locked (export);
}

bool
export_set_size_locked (struct export *export, uint64_t size, bool newer)
{
  bool in_use = export->conns > 0 || export->finishing;

  exports_assert_locked ();
  if (!in_use && newer &&
      (export->broken || !export->leaves || export->size != size))
    return reset_locked (export, size);
  if (export->size == size)
    return false;
  export->broken = "its size changed while it was in use";
  return export_withdraw_locked (export);
}

void
export_forget_locked (struct export *export)
{
  exports_assert_locked ();
  if (export->leaves && !export->baseline)
    blkhash_leaves_forget (export->leaves, export->size, 0);
}

bool
exports_use_locked (struct disk *disk, bool tls)
{
  struct export *export;

  exports_assert_locked ();
  if (disk->used_by[tls])
    return false;
  disk->used_by[tls] = true;
  if (!disk->finished_by[!tls] && !disk_is_mixed (disk))
    return false;
  for (export = exports; export; export = export->next)
    if (export->disk == disk)
      export_forget_locked (export);
  return (disk_is_mixed (disk) || disk->published) &&
    exports_withdraw_locked (disk, NULL, EXPORT_MIXED);
}

int
exports_check_size (uint64_t size)
{
  bool valid;

  {
    SCOPED_LOCK (&exports_lock);

    valid = baseline_is_valid_locked ();
  }
  if (!valid || size == baseline.size)
    return 0;
  nbdkit_error ("blkhash-update: %s is the manifest of a disk of %" PRIu64
                " bytes, and this disk has %" PRIu64, params.manifest,
                baseline.size, size);
  return -1;
}

void
export_set_idle_locked (struct export *export, bool idle)
{
  exports_assert_locked ();
  if (export->leaves)
    leaves_set_idle (export->leaves, idle);
}

bool
export_is_unused_locked (const struct export *export)
{
  exports_assert_locked ();
  return !export->modified && export->bytes_read == 0 && !export->line.was_set;
}

void
export_why_missing_locked (const struct export *export, uint64_t missing,
                           char why[EXPORT_WHY_SIZE])
{
  exports_assert_locked ();
  if (export->disk->claims.wrong)
    claims_why (&export->disk->claims, why);
  else
    snprintf (why, EXPORT_WHY_SIZE, "%" PRIu64 " bytes are missing", missing);
}

const char *
export_why_no_sum_locked (const struct export *export)
{
  exports_assert_locked ();
  if (export->size / blkhash_opts_get_block_size (params.hash) >
      TABLE_MAX_BLOCKS)
    return "it has more than 2^31 blocks";
  if (disk_is_mixed (export->disk))
    return EXPORT_MIXED;
  return export->broken;
}

/* Invalidate a range that was changed through another export, which can be
 * larger than this one.
 */
static void
invalidate_range (void *opaque, uint64_t offset, uint64_t end)
{
  struct export *export = opaque;

  if (end == UINT64_MAX)
    export->baseline = false;   /* all its leaves are invalidated */
  end = MIN (end, export->size);
  if (offset < end)
    blkhash_leaves_forget (export->leaves, end - offset, offset);
}

void
export_catch_up_locked (struct export *export)
{
  exports_assert_locked ();
  if (export->leaves)
    disk_catch_up (export->disk, export, &export->log_seen,
                   invalidate_range, export);
}

/* For clients without TLS, nbdkit's tls-fallback filter has an empty name. */
void
exports_set_default (const char *name)
{
  SCOPED_LOCK (&exports_lock);

  if (*name == '\0' || (default_name && strcmp (default_name, name) == 0))
    return;
  free (default_name);
  /* If there is no memory, the report shows NAME, not blkhash-name. */
  default_name = strdup (name);
}

void
exports_foreach (void (*fn) (struct export *export))
{
  struct export *export;

  for (export = exports; export; export = export->next)
    fn (export);
}

void
exports_free (void)
{
  while (exports) {
    struct export *export = exports;

    exports = export->next;
    tdelete (export, &exports_by_name, compare_names);
    blkhash_leaves_free (export->leaves);
    disk_destroy (&export->own_disk);
    free (export->line.text);
    free (export->name);
    free (export);
  }
  disk_destroy (&shared_disk);
  blkhash_leaves_free (baseline.leaves);
  baseline.leaves = NULL;
  free (default_name);
}

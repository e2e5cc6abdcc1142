/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write the result, the status and the mapfile.  See publish.h.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "../lib/common/clock.h"
#include "../lib/common/mapfile.h"
#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest-index.h"
#include "common/result-file.h"
#include "verify/publish.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"

#define MAX_SIGNATURE 128

enum file_origin
publish_examine (int fd, const char *signature)
{
  char start[MAX_SIGNATURE];
  size_t len = strlen (signature);
  ssize_t n;

  assert (len <= sizeof start);
  n = pread (fd, start, len, 0);
  if (n == -1)
    return FILE_UNEXAMINED;
  return n == (ssize_t) len && memcmp (start, signature, len) == 0
    ? FILE_OURS : FILE_FOREIGN;
}

/* ---- How much of an export was verified ---- */

/* The size of the plugin's disk is checked when a client connects.  Until then
 * the disk may be the wrong one, so all of it counts as not read, even blocks
 * that are zero in the manifest.
 */
struct summary {
  /* Bytes of the blocks in each state.  VERIFIED are those of BLOCK_OK.
   * MISSING_ZERO are those of BLOCK_MISSING that are zero in the manifest and
   * are not verified, because of ZERO_SKIP; MISSING are the others.
   */
  uint64_t verified, differs, unreadable, repaired, missing;
  uint64_t unreadable_repaired, missing_zero;
  uint64_t transient;           /* see tally.h */
  bool ok;                      /* VERIFIED is all of the disk */
};

/* Returns the bytes of the blocks in STATE.  The last block of the disk can be
 * shorter.
 */
static uint64_t
bytes_of (const struct verify_disk *disk, const struct tally_counts *counts,
          enum block_state state)
{
  uint64_t bytes = counts->blocks[state] * disk->block_size;
  uint64_t excess = disk->blocks * disk->block_size - disk->size;

  return disk->blocks > 0 && counts->last == state ? bytes - excess : bytes;
}

static void
summary_get_locked (const struct verify_export *export, struct summary *summary)
{
  struct verify_disk *disk = export->disk;
  struct tally_counts counts;

  *summary = (struct summary) { .missing = disk->size };
  if (!export->connected)
    return;
  tally_get_counts (&disk->tally, &counts);
  *summary = (struct summary) {
    .verified = bytes_of (disk, &counts, BLOCK_OK),
    .differs = bytes_of (disk, &counts, BLOCK_DIFFERS),
    .unreadable = bytes_of (disk, &counts, BLOCK_UNREADABLE),
    .repaired = bytes_of (disk, &counts, BLOCK_REPAIRED),
    .unreadable_repaired = bytes_of (disk, &counts, BLOCK_UNREADABLE_REPAIRED),
    .missing = bytes_of (disk, &counts, BLOCK_MISSING),
    .missing_zero = verify_params.zero == ZERO_SKIP ? disk->zeros : 0,
    .transient = counts.transient,
  };
  summary->missing -= summary->missing_zero;
  summary->ok = summary->verified == disk->size;
}

/* ---- The mapfile ----
 *
 * A mapfile of GNU ddrescue says which ranges are good, bad, and not tried.
 *
 * Clients that read at random can make millions of ranges.  After
 * MAPFILE_MAX_RANGES ranges, the rest of the disk is recorded as not tried, so
 * ddrescue needlessly reads some blocks again.
 */

#define MAPFILE_MAX_RANGES 100000

#define MAPFILE_SIGNATURE_LINE \
  MAPFILE_SIGNATURE ("nbdkit-blkhash-verify-filter")

static enum file_origin
examine_mapfile (int fd, char *why)
{
  (void) why;
  return publish_examine (fd, MAPFILE_SIGNATURE_LINE);
}

static struct output_file mapfile = {
  .param = "blkhash-verify-mapfile", .examine = examine_mapfile,
  .what = "a mapfile of this filter"
};

static char
status_of (enum block_state state)
{
  return state == BLOCK_OK ? MAPFILE_FINISHED
    : state == BLOCK_MISSING ? MAPFILE_NOT_TRIED : MAPFILE_BAD;
}

static void
print_range (FILE *out, const struct verify_disk *disk, uint64_t first,
             uint64_t count, char status)
{
  mapfile_print_range (out, first * disk->block_size,
                       verify_disk_bytes (disk, first, count), status);
}

/* Adjacent blocks that differ or are unreadable are one range. */
static void
print_ranges (FILE *out, struct verify_disk *disk)
{
  uint64_t start = 0, block = 0;
  unsigned ranges = 0;
  char status = MAPFILE_NOT_TRIED;

  while (block < disk->blocks && ranges < MAPFILE_MAX_RANGES) {
    enum block_state state;
    uint64_t count = tally_get_run (&disk->tally, block, &state);

    if (block > start && status_of (state) != status) {
      print_range (out, disk, start, block - start, status);
      start = block;
      ranges++;
    }
    status = status_of (state);
    block += count;
  }
  if (start < disk->blocks)
    print_range (out, disk, start, disk->blocks - start,
                 ranges < MAPFILE_MAX_RANGES ? status : MAPFILE_NOT_TRIED);
}

static void
print_export_locked (FILE *out, const struct verify_export *export)
{
  struct verify_disk *disk = export->disk;

  if (export->connected)
    print_ranges (out, disk);
  else if (disk->blocks > 0)
    print_range (out, disk, 0, disk->blocks, MAPFILE_NOT_TRIED);
}

/* Returns NULL if there is no memory. */
static char *
make_mapfile (void)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);

  if (!out)
    return NULL;
  fputs (MAPFILE_SIGNATURE_LINE MAPFILE_STATUS_BEGIN MAPFILE_STATUS_END ("?"),
         out);
  {
    SCOPED_LOCK (&verify_exports_lock);

    print_export_locked (out, verify_exports_first_locked ());
  }
  return memstream_close (out, &text);
}

/* Replace the file.  Only one thread at a time may call this, and the functions
 * for the other files.
 */
static void
mapfile_write (void)
{
  char *text = make_mapfile ();

  output_file_write (&mapfile, text);
  free (text);
}

/* ---- The result file ----
 *
 * The line of an export has the sum only if each block was good when it was
 * last read, or the plugin's extents say that it is zero, as in the manifest.
 * A block that was repaired still differs, or is unreadable, on the disk, so
 * there is no sum.
 */

/* Store in WHY, for a disk in which no block differs, why there is no sum. */
static void
print_why (const struct summary *s, char *why, size_t size)
{
  const struct {
    uint64_t bytes;
    const char *what;
  } reasons[] = {
    { s->unreadable + s->unreadable_repaired, "bytes cannot be read" },
    { s->missing, "bytes are missing" },
    { s->missing_zero, "bytes of zeros are missing" },
  };
  size_t len = 0, i;

  *why = '\0';
  for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
    if (reasons[i].bytes > 0)
      len += snprintf (why + len, size - len, "%s%" PRIu64 " %s",
                       len > 0 ? ", " : "", reasons[i].bytes,
                       reasons[i].what);
}

/* Print why there is no sum.  Returns false if there is no memory, as the
 * functions below.
 */
static bool
print_failure (FILE *out, const struct verify_export *export,
               const struct summary *s)
{
  char *name = sum_line_escape (export->name), why[160];
  int r = -1;

  print_why (s, why, sizeof why);
  if (name && s->differs + s->repaired > 0)
    r = fprintf (out, "# differs %s: %" PRIu64 " bytes\n", name,
                 s->differs + s->repaired);
  else if (name)
    r = fprintf (out, "# unknown %s: %s\n", name, why);
  free (name);
  return r >= 0;
}

static bool
print_line_locked (FILE *out, struct verify_export *export)
{
  struct summary summary;

  summary_get_locked (export, &summary);
  return summary.ok ? fputs (export->line, out) != EOF
                    : print_failure (out, export, &summary);
}

static bool
print_lines (FILE *out)
{
  struct verify_export *export;
  SCOPED_LOCK (&verify_exports_lock);

  for (export = verify_exports_first_locked (); export; export = export->next)
    if (!print_line_locked (out, export))
      return false;
  return true;
}

void
publish_write_result (void)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream (&text, &len);
  bool ok = out && print_lines (out);

  if (out && fclose (out) == EOF)
    ok = false;
  result_file_write (ok ? text : NULL);
  free (text);
}

/* ---- The status file ----
 *
 * The file has the counts and the ranges of each export, in JSON.  The text is
 * made in memory, so that no lock is held while the file is written.  To limit
 * this memory, the number of ranges is limited.
 */

/* The maximum number of ranges of all exports together.  Clients that read at
 * random leave many missing ranges, which must not displace the others.
 */
#define STATUS_MAX_RANGES 1000
#define STATUS_MAX_MISSING 1000

#define STATUS_SIGNATURE "{\n  \"program\": \"nbdkit-blkhash-verify-filter\",\n"

struct status {
  FILE *out;
  unsigned ranges_left;         /* of STATUS_MAX_RANGES */
  unsigned missing_left;        /* of STATUS_MAX_MISSING */
};

static enum file_origin
examine_status (int fd, char *why)
{
  (void) why;
  return publish_examine (fd, STATUS_SIGNATURE);
}

static struct output_file status_file = {
  .param = "blkhash-verify-status", .examine = examine_status,
  .what = "a status of this filter"
};

static void
add_number (const struct status *status, const char *key, uint64_t value)
{
  fprintf (status->out, "      \"%s\": %" PRIu64 ",\n", key, value);
}

static void
add_string (const struct status *status, const char *key, const char *value)
{
  fprintf (status->out, "      \"%s\": ", key);
  json_string (status->out, value);
  fputs (",\n", status->out);
}

static void
add_bool (const struct status *status, const char *key, bool value)
{
  fprintf (status->out, "      \"%s\": %s,\n", key, value ? "true" : "false");
}

/* Add the member "ranges".  Returns false if there are too many. */
static bool
add_ranges (struct status *status, const struct verify_export *export)
{
  static const char *const results[BLOCK_STATES] = {
    [BLOCK_MISSING] = "missing", [BLOCK_DIFFERS] = "differs",
    [BLOCK_UNREADABLE] = "unreadable", [BLOCK_REPAIRED] = "repaired",
    [BLOCK_UNREADABLE_REPAIRED] = "repaired",
  };
  struct verify_disk *disk = export->disk;
  const char *separator = "\n";
  uint64_t block, count;
  bool complete = true;

  fputs ("      \"ranges\": [", status->out);
  for (block = 0; block < disk->blocks; block += count) {
    enum block_state state = BLOCK_MISSING;
    unsigned *left;

    count = export->connected ? tally_get_run (&disk->tally, block, &state)
                              : disk->blocks;
    left = state == BLOCK_MISSING ? &status->missing_left
                                  : &status->ranges_left;
    if (!results[state])
      continue;
    if (*left == 0) {
      complete = false;
      continue;
    }
    --*left;
    fprintf (status->out, "%s        { \"start\": %" PRIu64 ", "
             "\"length\": %" PRIu64 ", \"result\": \"%s\" }", separator,
             block * disk->block_size, verify_disk_bytes (disk, block, count),
             results[state]);
    separator = ",\n";
  }
  fputs (" ],\n", status->out);
  return complete;
}

static void
add_export_locked (struct status *status, const struct verify_export *export)
{
  struct verify_disk *disk = export->disk;
  struct summary summary;
  bool complete;

  summary_get_locked (export, &summary);
  fputs ("    {\n", status->out);
  add_string (status, "name", export->name);
  add_string (status, "manifest", disk->path);
  add_string (status, "result",
              summary.differs + summary.repaired > 0 ? "differs" :
              summary.ok ? "ok" : "unknown");
  add_number (status, "size", disk->size);
  add_number (status, "block-size", disk->block_size);
  add_number (status, "verified-bytes", summary.verified);
  add_number (status, "differs-bytes", summary.differs);
  add_number (status, "unreadable-bytes", summary.unreadable);
  add_number (status, "repaired-bytes",
              summary.repaired + summary.unreadable_repaired);
  add_number (status, "unreadable-repaired-bytes",
              summary.unreadable_repaired);
  add_number (status, "missing-bytes", summary.missing + summary.missing_zero);
  add_number (status, "missing-zero-bytes", summary.missing_zero);
  add_number (status, "transient-blocks", summary.transient);
  add_bool (status, "stopped", verify_disk_is_stopped (disk));
  add_bool (status, "manifest-changed", verify_disk_has_changed (disk));
  complete = add_ranges (status, export);
  fprintf (status->out, "      \"ranges-complete\": %s\n    }",
           complete ? "true" : "false");
}

static void
add_exports (struct status *status)
{
  const struct verify_export *export;
  SCOPED_LOCK (&verify_exports_lock);

  for (export = verify_exports_first_locked (); export; export = export->next) {
    add_export_locked (status, export);
    fputs (export->next ? ",\n" : "\n", status->out);
  }
}

/* Returns NULL if there is no memory. */
static char *
make_status (bool finished)
{
  struct status status = {
    .ranges_left = STATUS_MAX_RANGES, .missing_left = STATUS_MAX_MISSING
  };
  char *text = NULL;
  size_t size;

  status.out = open_memstream (&text, &size);
  if (!status.out)
    return NULL;
  fprintf (status.out, STATUS_SIGNATURE
           "  \"time\": %jd,\n  \"finished\": %s,\n  \"exports\": [\n",
           (intmax_t) time (NULL),
           finished ? "true" : "false");
  add_exports (&status);
  fputs ("  ]\n}\n", status.out);
  return memstream_close (status.out, &text);
}

/* Replace the file.  FINISHED is set if the server ends. */
static void
status_write (bool finished)
{
  char *text = make_status (finished);

  output_file_write (&status_file, text);
  free (text);
}

/* ---- All files ---- */

#define INTERVAL 5              /* seconds */
#define MAX_AWAITED 1000        /* writes */

/* Protects the variables below. */
static pthread_mutex_t publish_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_due, is_ending;
static pthread_cond_t woken;
static bool is_awaited;         /* a request waits for a write */
static unsigned awaited;        /* number of writes for which requests waited */
static uint64_t published;      /* tally_findings before the last write began */
static pthread_cond_t written;  /* PUBLISHED has changed */

static pthread_t thread;
static bool has_thread;         /* constant while clients are connected */

#define HEADER "# nbdkit-blkhash-verify-filter replaces this file\n"

static int
open_files (const struct blkhash_opts *hash, bool create)
{
  result_form = (struct result_form) {
    .header = HEADER, .hash = hash, .name = verify_params.name, .differs = true
  };
  if (result_file_open ("blkhash-verify-file", verify_params.file,
                        create) == -1)
    return -1;
  if (verify_params.status &&
      output_file_open (&status_file, verify_params.status, create) == -1)
    return -1;
  return verify_params.mapfile
    ? output_file_open (&mapfile, verify_params.mapfile, create) : 0;
}

static int
check_files (void)
{
  return result_file_check () == -1 ||
    output_file_check (&status_file) == -1 ||
    output_file_check (&mapfile) == -1 ? -1 : 0;
}

static int
empty_files (void)
{
  return result_file_start () == -1 ||
    output_file_empty (&status_file) == -1 ||
    output_file_empty (&mapfile) == -1 ? -1 : 0;
}

void
publish_close (void)
{
  has_thread = is_due = is_ending = is_awaited = false;
  awaited = 0;
  result_file_stop ();
  output_file_stop (&status_file);
  output_file_stop (&mapfile);
}

static int
open_and_empty (const struct blkhash_opts *hash, bool create)
{
  if (open_files (hash, create) == 0 && check_files () == 0 &&
      empty_files () == 0)
    return 0;
  publish_close ();
  return -1;
}

/* The manifest, which has the hash parameters, is not open yet: use those of
 * the sum.  Without a valid sum, any are possible.
 */
int
publish_withdraw (void)
{
  struct expected_sum sum = { .opts = NULL };
  char reason[BLKHASH_MAX_REASON_SIZE];
  int r;

  if (verify_params.sum)
    expected_sum_parse (&sum, verify_params.sum, NULL, reason);
  r = open_and_empty (sum.opts, false);
  publish_close ();
  result_form.hash = NULL;
  expected_sum_destroy (&sum);
  return r;
}

int
publish_open (void)
{
  const struct verify_export *export = verify_exports_first_locked ();

  return open_and_empty (export ? manifest_index_opts (export->disk->index)
                                : NULL, true);
}

static void
write_files (bool finished)
{
  if (verify_params.file)
    publish_write_result ();
  if (verify_params.status)
    status_write (finished);
  if (verify_params.mapfile)
    mapfile_write ();
}

/* ---- The thread ---- */

/* Returns the version of what the files show: a number that differs after each
 * change.  It is never 0, the version of files that were not written yet.
 */
static uint64_t
get_version (void)
{
  const struct verify_export *export;
  uint64_t version;
  SCOPED_LOCK (&verify_exports_lock);

  version = 1 + (verify_exports_generation_locked () << 40);
  for (export = verify_exports_first_locked (); export; export = export->next)
    version += verify_disk_is_stopped (export->disk) +
      verify_disk_has_changed (export->disk) +
      tally_get_changes (&export->disk->tally);
  return version;
}

/* Returns false if the server ends. */
static bool
wait_until_due (void)
{
  const uint64_t until = clock_ns () + INTERVAL * NS_PER_SECOND;
  SCOPED_LOCK (&publish_lock);

  while (!is_due && !is_ending &&
         clock_cond_wait (&woken, &publish_lock, until) != ETIMEDOUT)
    ;
  is_due = false;
  return !is_ending;
}

static void
set_published (uint64_t findings)
{
  SCOPED_LOCK (&publish_lock);

  published = findings;
  awaited += is_awaited;
  is_awaited = false;
  pthread_cond_broadcast (&written);
}

static void *
write_repeatedly (void *opaque)
{
  uint64_t written_version = 0;

  (void) opaque;
  do {
    uint64_t findings = tally_findings ();
    uint64_t version = get_version ();

    if (version != written_version)
      write_files (false);
    written_version = version;
    set_published (findings);
  } while (wait_until_due ());
  return NULL;
}

int
publish_start (void)
{
  int err;

  if (!verify_params_have_output ())
    return 0;
  if (check_files () == -1)
    return -1;
  clock_cond_init (&woken);
  clock_cond_init (&written);
  err = pthread_create (&thread, NULL, write_repeatedly, NULL);
  if (err == 0) {
    has_thread = true;
    return 0;
  }
  nbdkit_error ("blkhash-verify: cannot start a thread: %s", strerror (err));
  return -1;
}

void
publish_wake (void)
{
  SCOPED_LOCK (&publish_lock);

  is_due = true;
  if (has_thread)
    pthread_cond_signal (&woken);
}

void
publish_findings (void)
{
  const uint64_t until = clock_ns () + INTERVAL * NS_PER_SECOND;
  uint64_t findings = tally_findings ();
  SCOPED_LOCK (&publish_lock);

  if (!has_thread || published >= findings || awaited >= MAX_AWAITED)
    return;
  is_due = is_awaited = true;
  pthread_cond_signal (&woken);
  while (published < findings &&
         clock_cond_wait (&written, &publish_lock, until) != ETIMEDOUT)
    ;
}

static void
set_ending (void)
{
  SCOPED_LOCK (&publish_lock);

  is_ending = true;
  pthread_cond_signal (&woken);
}

void
publish_finish (void)
{
  if (!has_thread)
    return;
  set_ending ();
  pthread_join (thread, NULL);
  write_files (true);
}

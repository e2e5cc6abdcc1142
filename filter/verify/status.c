/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The status file: counts and bad ranges of each export, in JSON.
 *
 * The text is made in memory, so that no lock is held while the file is
 * written.  To limit this memory, the number of bad ranges is limited.
 */

#include <config.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/json-string.h"
#include "../lib/common/memstream.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/signature.h"
#include "verify/status.h"
#include "verify/summary.h"

#define MAX_RANGES 1000         /* of all exports together */

#define SIGNATURE "{\n  \"program\": \"nbdkit-blkhash-verify-filter\",\n"

struct status {
  FILE *out;
  unsigned ranges_left;         /* of MAX_RANGES */
};

static int
is_status (int fd, char *why)
{
  (void) why;
  return signature_is (fd, SIGNATURE);
}

struct output_file status_file = {
  .param = "blkhash-verify-status", .is_ours = is_status,
  .what = "a status of this filter"
};

/* ---- Members ---- */

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

/* ---- Bad ranges ---- */

/* Add the member "bad-ranges", without its end.  Returns false if there are too
 * many ranges.
 */
static bool
add_ranges (struct status *status, struct disk *disk)
{
  static const char *const states[BLOCK_STATES] = {
    [BLOCK_BAD] = "bad", [BLOCK_UNREADABLE] = "unreadable",
    [BLOCK_IN_FLIGHT] = "repaired-in-flight",
    [BLOCK_UNREADABLE_IN_FLIGHT] = "repaired-in-flight",
  };
  const char *separator = "\n";
  uint64_t block, count;

  fputs ("      \"bad-ranges\": [", status->out);
  for (block = 0; block < disk->blocks; block += count) {
    enum block_state state;

    count = tally_get_run (&disk->tally, block, &state);
    if (!states[state])
      continue;
    if (status->ranges_left == 0)
      return false;
    status->ranges_left--;
    fprintf (status->out, "%s        { \"offset\": %" PRIu64 ", "
             "\"length\": %" PRIu64 ", \"state\": \"%s\" }", separator,
             block * disk->block_size, disk_bytes (disk, block, count),
             states[state]);
    separator = ",\n";
  }
  return true;
}

/* ---- The file ---- */

static void
add_export_locked (struct status *status, const struct export *export)
{
  struct disk *disk = export->disk;
  struct summary summary;
  bool complete;

  summary_get_locked (export, &summary);
  fputs ("    {\n", status->out);
  add_string (status, "name", export->name);
  add_string (status, "manifest", disk->path);
  add_string (status, "result", summary.bad + summary.in_flight > 0 ? "bad" :
              summary.good ? "good" : "incomplete");
  add_number (status, "size", disk->size);
  add_number (status, "block-size", disk->block_size);
  add_number (status, "verified-bytes", summary.verified);
  add_number (status, "zero-bytes", summary.zero);
  add_number (status, "bad-bytes", summary.bad);
  add_number (status, "unreadable-bytes", summary.unreadable);
  add_number (status, "repaired-in-flight-bytes",
              summary.in_flight + summary.unreadable_in_flight);
  add_number (status, "unreadable-repaired-in-flight-bytes",
              summary.unreadable_in_flight);
  add_number (status, "not-read-bytes", summary.not_read);
  add_number (status, "transient-blocks", summary.transient);
  add_bool (status, "stopped", disk_is_stopped (disk));
  add_bool (status, "manifest-changed", disk_has_changed (disk));
  complete = add_ranges (status, disk);
  fprintf (status->out, " ],\n      \"bad-ranges-complete\": %s\n    }",
           complete ? "true" : "false");
}

static void
add_exports (struct status *status)
{
  const struct export *export;
  SCOPED_LOCK (&exports_lock);

  for (export = exports_first_locked (); export; export = export->next) {
    add_export_locked (status, export);
    fputs (export->next ? ",\n" : "\n", status->out);
  }
}

/* Returns NULL if there is no memory. */
static char *
make_text (bool finished)
{
  struct status status = { .ranges_left = MAX_RANGES };
  char *text = NULL;
  size_t size;

  status.out = open_memstream (&text, &size);
  if (!status.out)
    return NULL;
  fprintf (status.out, SIGNATURE "  \"time\": %jd,\n  \"finished\": %s,\n"
           "  \"exports\": [\n", (intmax_t) time (NULL),
           finished ? "true" : "false");
  add_exports (&status);
  fputs ("  ]\n}\n", status.out);
  return memstream_close (status.out, &text);
}

void
status_write (bool finished)
{
  char *text = make_text (finished);

  output_file_write (&status_file, text);
  free (text);
}

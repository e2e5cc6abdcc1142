/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The status file: counts and ranges of each export, in JSON.
 *
 * The text is made in memory, so that no lock is held while the file is
 * written.  To limit this memory, the number of ranges is limited.
 */

#include <config.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/signature.h"
#include "verify/status.h"
#include "verify/summary.h"

/* The maximum number of ranges of all exports together.  Clients that read at
 * random leave many missing ranges, which must not displace the others.
 */
#define MAX_RANGES 1000
#define MAX_MISSING 1000

#define SIGNATURE "{\n  \"program\": \"nbdkit-blkhash-verify-filter\",\n"

struct status {
  FILE *out;
  unsigned ranges_left, missing_left; /* of MAX_RANGES, MAX_MISSING */
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

/* ---- Ranges ---- */

/* Add the member "ranges".  Returns false if there are too many. */
static bool
add_ranges (struct status *status, const struct export *export)
{
  static const char *const results[BLOCK_STATES] = {
    [BLOCK_MISSING] = "missing", [BLOCK_DIFFERS] = "differs",
    [BLOCK_UNREADABLE] = "unreadable", [BLOCK_REPAIRED] = "repaired",
    [BLOCK_UNREADABLE_REPAIRED] = "repaired",
  };
  struct disk *disk = export->disk;
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
             block * disk->block_size, disk_bytes (disk, block, count),
             results[state]);
    separator = ",\n";
  }
  fputs (" ],\n", status->out);
  return complete;
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
  add_bool (status, "stopped", disk_is_stopped (disk));
  add_bool (status, "manifest-changed", disk_has_changed (disk));
  complete = add_ranges (status, export);
  fprintf (status->out, "      \"ranges-complete\": %s\n    }",
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
  struct status status = {
    .ranges_left = MAX_RANGES, .missing_left = MAX_MISSING
  };
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of each export when the server ends.
 *
 * An export without a line must not be mistaken for success if clients read it,
 * so every export that clients read gets a line.  Called from .cleanup, when
 * the plugin can no longer be read.
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "export.h"
#include "final.h"
#include "manifest.h"
#include "pass.h"
#include "report.h"

static bool
is_changing (const struct export *export)
{
  SCOPED_LOCK (&exports_lock);

  return export->disk->changing > 0;
}

/* Publish the sum of an export whose content is completely known, even if the
 * last connection was closed without .finalize.  Returns false if there is no
 * sum.
 */
static bool
fold_known (struct export *export)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;
  bool saved;

  if (is_changing (export) || pass_missing (export->leaves) > 0 ||
      manifest_fold (export->leaves, md, &len, &saved) != 0)
    return false;
  {
    SCOPED_LOCK (&exports_lock);

    export_publish_locked (export, md, len, saved);
  }
  if (saved) {
    report_write ();
    manifest_end ();
  }
  return true;
}

/* Report even exports that clients neither read nor changed. */
static bool report_unused;

/* Returns true if the export has no sum.  Sets *WHY to the reason why the
 * export cannot have a sum, or to NULL.
 */
static bool
start_final (struct export *export, const char **why)
{
  SCOPED_LOCK (&exports_lock);

  *why = export_why_hopeless_locked (export);
  if (!export->published && !*why)
    export_catch_up_locked (export);
  return !export->published;
}

static void
report_export (struct export *export)
{
  char unknown[128];
  const char *why;

  if (!start_final (export, &why))
    return;
  if (!why) {
    if (fold_known (export))
      return;
    snprintf (unknown, sizeof unknown, EXPORT_UNKNOWN_BYTES,
              pass_missing (export->leaves));
    why = unknown;
  }

  SCOPED_LOCK (&exports_lock);
  if (!export->line.text &&
      (report_unused || !export_is_unused_locked (export)))
    export_incomplete_locked (export, why);
}

void
final_report (void)
{
  exports_foreach (report_export);
  if (report_is_empty ()) {
    report_unused = true;
    exports_foreach (report_export);
  }
  report_write ();
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The final report, written from .cleanup when the server ends.
 *
 * The plugin can no longer be read, so an export has a sum only if the content
 * of all its blocks is known.  Any other export that clients read or changed
 * gets a line that says why it has no sum: a script must not mistake a missing
 * line for success.
 */

#include <config.h>

#include "blkhash.h"

#include "../lib/common/util.h"
#include "export.h"
#include "final.h"
#include "manifest.h"
#include "params.h"
#include "pass.h"
#include "report.h"

static bool
has_change_in_flight (const struct export *export)
{
  SCOPED_LOCK (&exports_lock);

  return export->disk->changing > 0;
}

/* If no block is missing and no change is in flight, compute the sum from the
 * leaves, and publish it.  This is needed if the last connection of the export
 * ended without .finalize.  Returns false if the export has no sum.
 */
static bool
publish_if_complete (struct export *export)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;
  bool saved;

  if (has_change_in_flight (export) || pass_missing (export->leaves) > 0 ||
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

/* Set if exports that clients neither read nor changed are reported, too. */
static bool report_unused;

/* Invalidate the ranges that were changed through other exports.  Returns true
 * if EXPORT has no sum yet.  *WHY is set to the reason why EXPORT cannot have a
 * sum, or to NULL.
 */
static bool
begin_report (struct export *export, const char **why)
{
  SCOPED_LOCK (&exports_lock);

  *why = export_why_no_sum_locked (export);
  if (!export->published && !*why)
    export_catch_up_locked (export);
  if (!*why && export->baseline && params.audit > 0)
    *why = EXPORT_NOT_AUDITED;
  if (!*why && params.update && !disk_is_durable (export->disk))
    *why = EXPORT_NOT_FLUSHED;
  return !export->published;
}

static void
report_export (struct export *export)
{
  char missing[EXPORT_WHY_SIZE];
  const char *why;

  if (!begin_report (export, &why))
    return;
  if (!why && publish_if_complete (export))
    return;

  SCOPED_LOCK (&exports_lock);
  if (!why) {
    export_why_missing_locked (export, pass_missing (export->leaves), missing);
    why = missing;
  }
  if (!export->line.text &&
      (report_unused || !export_is_unused_locked (export)))
    export_unknown_locked (export, why);
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

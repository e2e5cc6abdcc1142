/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "manifest/manifest-plan.h"
#include "manifest/manifest-reader.h"
#include "manifest/manifest-writer.h"

int
manifest_writer_set_plan (struct blkhash_manifest_writer *w, const char *plan)
{
  if (w->header_last || w->next != w->header.first ||
      w->output.used != MANIFEST_HEADER_SIZE)
    return EINVAL;
  memcpy (w->header.plan, plan, MANIFEST_PLAN_DIGITS);
  manifest_header_print (&w->header, w->output.buf);
  return 0;
}

const char *
manifest_reader_plan (const struct blkhash_manifest_reader *r)
{
  return r->header.plan;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "manifest/manifest-id.h"
#include "manifest/manifest-reader.h"
#include "manifest/manifest-writer.h"

int
manifest_writer_set_id (struct blkhash_manifest_writer *w, const char *id)
{
  if (w->header_last || w->next != w->header.first ||
      w->output.used != MANIFEST_HEADER_SIZE ||
      strlen (id) >= sizeof w->header.id)
    return EINVAL;
  strcpy (w->header.id, id);
  manifest_header_print (&w->header, w->output.buf);
  return 0;
}

const char *
manifest_reader_id (const struct blkhash_manifest_reader *r)
{
  return r->header.id;
}

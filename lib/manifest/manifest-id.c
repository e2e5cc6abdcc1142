/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The journal ID in the header of an unfinished manifest, by which blksum
 * --resume finds out whether a state file belongs to the manifest.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "manifest/manifest-reader.h"
#include "manifest/manifest-unfinished.h"
#include "manifest/manifest-writer.h"

int
manifest_writer_set_id (struct blkhash_manifest_writer *w, const char *id)
{
  if (!w->header.unfinished || w->next > 0 ||
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

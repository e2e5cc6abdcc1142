/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Report that the bytes that were hashed are not those of a disk, but of
 * something that contains the image of one.
 *
 * The result stands, because the user may want it.  The line says how to get at
 * the disk.
 */

#include <config.h>

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/output.h"
#include "cli/program.h"
#include "format/format.h"
#include "format/probe.h"
#include "util/error.h"
#include "util/first-bytes.h"

static const struct {
  const char *name;             /* see probe_container */
  const char *what;             /* the name with an article and a noun */
  const char *unpack;           /* commands */
} containers[] = {
  { "gzip", "gzip data", "gzip -dc FILE | blksum" },
  { "xz", "xz data", "xz -dc FILE | blksum" },
  { "zstd", "zstd data", "zstd -dc FILE | blksum" },
  { "bzip2", "bzip2 data", "bzip2 -dc FILE | blksum" },
  { "zip", "a zip archive", "unzip FILE, and hash the image from it" },
  { "tar", "a tar archive", "tar -xf FILE, and hash the image from it" },
  { "7z", "a 7z archive", "7z x FILE, and hash the image from it" },
  { "E01", "an E01 image", "ewfmount FILE DIR && blksum DIR/ewf1" },
  { "Android sparse", "an Android sparse image",
    "simg2img FILE RAW && blksum RAW" },
};

#define NOT_OF_DISK "; this is the %s of the file, not of the disk in it: "

/* Set ERROR if FIRST is of a container, or of an image in another format than
 * raw.
 */
static void
describe (const struct first_bytes *first, const char *result,
          struct error *error)
{
  const char *format = probe_format (first->bytes, first->len);
  const char *found = probe_container (first->bytes, first->len);
  size_t i;

  for (i = 0; found && i < sizeof containers / sizeof containers[0]; i++)
    if (strcmp (found, containers[i].name) == 0)
      error_set (error, "is %s" NOT_OF_DISK "%s", containers[i].what, result,
                 containers[i].unpack);
  if (found)
    return;
  if (format_is_unread (format))
    error_set (error, "is a %s image" NOT_OF_DISK FORMAT_CONVERT_HINT, format,
               result, format);
  /* The content of a disk can be encrypted by LUKS. */
  else if (strcmp (format, "raw") != 0 && format_is_known (format))
    error_set (error, "is a %s image" NOT_OF_DISK "give its name as a file, or "
               "export its disk by qemu-nbd -r -f %s FILE", format, result,
               format);
}

void
container_report (const char *name, const struct first_bytes *first,
                  const char *result)
{
  struct error error = { "" };

  if (first->len > 0)
    describe (first, result, &error);
  if (error_is_set (&error))
    report (name, &error);
}

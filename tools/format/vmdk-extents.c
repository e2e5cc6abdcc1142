/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file that starts with neither "KDMV" nor "COWD" is a descriptor.  A sparse
 * image ("KDMV") contains a descriptor, which qemu uses only if the capacity of
 * the image is 0.  Lines are parsed as in qemu (7.2), so that the extents found
 * here are those that qemu reads.  An extent line that qemu would skip is an
 * error here, because qemu would omit the extent from the disk.
 *
 * A descriptor that is truncated after one of its extents would describe a
 * smaller disk.  All programs write the disk database after the extents, so at
 * least the start of this database is required here.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/vmdk-extents.h"

#define SECTOR 512
#define MAX_SECTORS (INT64_MAX / SECTOR)
#define MAX_DESCRIPTOR ((1 << 20) - 1) /* number of bytes that qemu reads */

/* Set *OFFSET to the start of the descriptor.  Returns 1 if the image uses a
 * descriptor, 0 if it does not, or -1 on error.
 */
static int
find_descriptor (const struct imagefile *file, uint64_t *offset,
                 struct error *error)
{
  unsigned char head[36];

  *offset = 0;
  if (imagefile_read (file, "the vmdk header", head, 4, 0, error) == -1)
    return -1;
  if (memcmp (head, "COWD", 4) == 0)
    return 0;
  if (memcmp (head, "KDMV", 4) != 0)
    return 1;
  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  if (le64_at (head + 12) != 0 || le64_at (head + 28) == 0)
    return 0;
  if (le64_at (head + 28) > MAX_SECTORS)
    return imagefile_error (file, error, "the vmdk header is corrupt");
  *offset = le64_at (head + 28) * SECTOR;
  return 1;
}

static char *
read_descriptor (const struct imagefile *file, uint64_t offset,
                 struct error *error)
{
  uint64_t rest = offset < file->size ? file->size - offset : 0;
  size_t len = MIN (rest, MAX_DESCRIPTOR);
  char *text = malloc (len + 1);

  if (!text) {
    imagefile_error (file, error, "out of memory");
    return NULL;
  }
  if (imagefile_read (file, "the vmdk descriptor", text, len, offset,
                      error) == -1) {
    free (text);
    return NULL;
  }
  text[len] = '\0';
  return text;
}

static bool
is_one_of (const char *word, const char *const words[])
{
  for (; *words; words++)
    if (strcmp (word, *words) == 0)
      return true;
  return false;
}

/* Returns 1 and sets *EXTENT if LINE describes an extent; 0 if it does not; or
 * -1 if it is the line of an extent that qemu would skip or refuse.
 */
static int
parse_line (const char *line, struct vmdk_extent *extent)
{
  static const char *const accesses[] = { "RW", "RDONLY", "NOACCESS", NULL };
  static const char *const types[] = {
    "FLAT", "VMFS", "SPARSE", "VMFSSPARSE", "SESPARSE", NULL
  };
  char access[11];
  int64_t sectors, offset;
  bool flat;
  int n;

  n = sscanf (line, "%10s %" SCNd64 " %10s \"%511[^\n\r\"]\" %" SCNd64,
              access, &sectors, extent->type, extent->name, &offset);
  if (n < 2 || !is_one_of (access, accesses))
    return 0;
  if (n < 4 || strcmp (access, "RW") != 0 || sectors <= 0 ||
      sectors > MAX_SECTORS || !is_one_of (extent->type, types))
    return -1;
  flat = strcmp (extent->type, "FLAT") == 0;
  if ((n == 5) != flat || (flat && (offset < 0 || offset > MAX_SECTORS)))
    return -1;
  extent->offset = flat ? (uint64_t) offset * SECTOR : 0;
  extent->size = (uint64_t) sectors * SECTOR;
  return 1;
}

static bool
is_disk_database (const char *line)
{
  return strncmp (line, "#DDB", 4) == 0 || strncmp (line, "ddb.", 4) == 0;
}

static int
for_each_line (const struct imagefile *file, const char *text,
               vmdk_extent_function *function, void *opaque,
               struct error *error)
{
  struct vmdk_extent extent;
  unsigned extents = 0;
  bool complete = false;
  const char *end;

  for (; text; text = end ? end + 1 : NULL) {
    int r;

    text += strspn (text, " \t\r\v\f");
    end = strchr (text, '\n');
    complete |= extents > 0 && is_disk_database (text);
    if (*text != 'R' && *text != 'N')
      continue;
    r = parse_line (text, &extent);
    if (r == -1)
      return imagefile_error (file, error, "the descriptor of the vmdk image "
                              "has an extent that qemu cannot read: '%.*s'",
                              (int) MIN (strcspn (text, "\r\n"), 100), text);
    if (r == 1 && function (opaque, &extent, error) == -1)
      return -1;
    extents += r;
  }
  if (extents == 0)
    return imagefile_error (file, error, "the descriptor of the vmdk image "
                            "names no extent");
  if (!complete)
    return imagefile_error (file, error, "the descriptor of the vmdk image is "
                            "truncated: no disk database ('#DDB') follows its "
                            "extents");
  return 0;
}

int
vmdk_extents (const struct imagefile *file, vmdk_extent_function *function,
              void *opaque, struct error *error)
{
  uint64_t offset;
  char *text;
  int r = find_descriptor (file, &offset, error);

  if (r != 1)
    return r;
  text = read_descriptor (file, offset, error);
  if (!text)
    return -1;
  r = for_each_line (file, text, function, opaque, error);
  free (text);
  return r;
}

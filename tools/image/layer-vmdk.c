/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/imagefile.h"
#include "format/vmdk.h"
#include "format/vmdk-extents.h"
#include "image/layer-vmdk.h"
#include "image/qemuname.h"
#include "io/files.h"

#define EXTENT_MEMORY 32768     /* bytes that qemu needs for each extent */

struct vmdk_check {
  const struct imagefile *file;
  const char *path;
  struct files *files;
  uint64_t memory;              /* bytes that qemu needs for the extents so far
                                 */
};

static int
refuse_extent (void *opaque, const struct vmdk_extent *extent,
               struct error *error)
{
  (void) extent;
  return imagefile_error (opaque, error, "refused because this extent names "
                          "further extents");
}

/* Check a file in the vmdk format, unless it is only a descriptor.  *MEMORY is
 * set to the bytes that qemu needs for its grain directories.
 */
static int
check_grains (const struct imagefile *file, uint64_t *memory,
              struct error *error)
{
  unsigned char head[4];

  *memory = 0;
  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  if (vmdk_is_sparse (head))
    return vmdk_check_and_count (file, memory, error);
  if (vmdk_is_cowd (head))
    return vmdk_refuse_esx (file, "vmfsSparse", error);
  return 0;
}

/* Check the extent in FILE.  *MEMORY is set to the bytes that qemu needs for
 * its grain directories; 0 if it has none.
 */
static int
check_extent_file (const struct imagefile *file,
                   const struct vmdk_extent *extent, uint64_t *memory,
                   struct error *error)
{
  *memory = 0;
  if (strcmp (extent->type, "FLAT") == 0 || strcmp (extent->type, "VMFS") == 0)
    return imagefile_check (file, "an extent", extent->offset, extent->size,
                            error);
  if (strcmp (extent->type, "SESPARSE") == 0)
    return vmdk_refuse_esx (file, "seSparse", error);
  if (vmdk_extents (file, refuse_extent, (void *) file, error) == -1)
    return -1;
  return check_grains (file, memory, error);
}

/* Extents are always local files, even if their names look like URLs. */
static int
check_extent (void *opaque, const struct vmdk_extent *extent,
              struct error *error)
{
  struct vmdk_check *check = opaque;
  char *path = qemuname_in_directory_of (check->path, extent->name);
  const struct file *opened;
  struct imagefile file;
  uint64_t memory;

  if (!path)
    return error_set (error, "out of memory");
  opened = files_open (check->files, "the extent", path, error);
  free (path);
  if (!opened)
    return -1;
  file = imagefile_of (opened);
  if (check_extent_file (&file, extent, &memory, error) == -1)
    return -1;
  check->memory += EXTENT_MEMORY + memory;
  if (check->memory > IMAGEFILE_TABLE_MAX)
    return imagefile_error (check->file, error, "refused because the extents "
                            "of the vmdk image would take more than %" PRIu64
                            " MiB of memory", IMAGEFILE_TABLE_MAX >> 20);
  return 0;
}

int
layer_vmdk_check (const struct imagefile *file, const char *path,
                  struct files *files, struct error *error)
{
  struct vmdk_check check = { .file = file, .path = path, .files = files };
  uint64_t memory;

  if (vmdk_extents (file, check_extent, &check, error) == -1)
    return -1;
  return check_grains (file, &memory, error);
}

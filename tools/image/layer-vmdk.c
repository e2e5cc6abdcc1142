/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A layer in the vmdk format, and the files that its descriptor names.
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/imagefile.h"
#include "format/vmdk.h"
#include "format/vmdk-directory.h"
#include "format/vmdk-extents.h"
#include "image/layer.h"
#include "image/layer-vmdk.h"
#include "image/qemuname.h"

#define EXTENT_MEMORY 32768     /* what qemu needs for any extent, in bytes */

struct vmdk_check {
  const struct layer *layer;
  const struct layer_context *context;
  uint64_t memory;              /* what qemu needs for all extents so far */
};

static int
refuse_extent (void *opaque, const struct vmdk_extent *extent,
               struct error *error)
{
  (void) extent;
  return imagefile_error (opaque, error, "an extent that names further "
                          "extents");
}

/* Check a file in the vmdk format, unless it is a descriptor alone.  *MEMORY
 * is what qemu needs for its directories.
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
  if (memcmp (head, "COWD", 4) == 0)
    return vmdk_cowd_directory (file, memory, error);
  return 0;
}

/* Extents are always local files, whatever their names look like. */
static int
check_extent (void *opaque, const struct vmdk_extent *extent,
              struct error *error)
{
  struct vmdk_check *check = opaque;
  uint64_t memory = 0;
  char *path = qemuname_in_directory_of (check->layer->path, extent->name);
  struct imagefile file;
  int r = -1;

  if (!path)
    return error_set (error, "out of memory");
  if (layer_open_file (&file, "the extent", path, check->context,
                       error) == 0) {
    if (strcmp (extent->type, "FLAT") == 0 ||
        strcmp (extent->type, "VMFS") == 0)
      r = imagefile_check (&file, "an extent", extent->offset, extent->size,
                           error);
    else if (strcmp (extent->type, "SESPARSE") == 0)
      r = vmdk_sesparse_directory (&file, &memory, error);
    else if (vmdk_extents (&file, refuse_extent, &file, error) == 0)
      r = check_grains (&file, &memory, error);
  }
  free (path);
  check->memory += EXTENT_MEMORY + memory;
  if (r == 0 && check->memory > IMAGEFILE_TABLE_MAX)
    return imagefile_error (&check->layer->file, error, "refused because the "
                            "extents of the vmdk image would take more than "
                            "%" PRIu64 " MiB of memory",
                            IMAGEFILE_TABLE_MAX >> 20);
  return r;
}

int
layer_check_vmdk (const struct layer *layer,
                  const struct layer_context *context, struct error *error)
{
  struct vmdk_check check = { .layer = layer, .context = context };
  uint64_t memory;

  if (vmdk_extents (&layer->file, check_extent, &check, error) == -1)
    return -1;
  return check_grains (&layer->file, &memory, error);
}

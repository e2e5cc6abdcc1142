/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "format/imagefile.h"
#include "image/layer.h"
#include "io/file.h"
#include "io/files.h"
#include "util/error.h"

#define SECTOR 512              /* bytes */

static int
no_memory (struct error *error)
{
  return error_set (error, "out of memory");
}

int
layer_init (struct layer *layer, const struct file *file, const char *format,
            struct error *error)
{
  layer->path = strdup (file->path);
  layer->format = strdup (format);
  layer->file = imagefile_of (file);
  return layer->path && layer->format ? 0 : no_memory (error);
}

void
layer_destroy (struct layer *layer)
{
  struct layer *backing;

  for (;;) {
    free (layer->path);
    free (layer->format);
    backing = layer->backing;
    if (!backing)
      break;
    *layer = *backing;
    free (backing);
  }
}

int
layer_check_below (const struct layer *layer, struct error *error)
{
  uint64_t size = layer->size, qemu = size / SECTOR * SECTOR;

  if (size == qemu)
    return 0;
  if (strcmp (layer->format, "vdi") == 0)
    qemu += SECTOR;
  return imagefile_error (&layer->file, error, "refused because its disk has "
                          "%" PRIu64 " bytes, and qemu would read %" PRIu64,
                          size, qemu);
}

bool
layer_is_format (const char *driver)
{
  return strcmp (driver, "raw") != 0 && format_is_known (driver);
}

int
layer_open_file (struct imagefile *file, const char *what, const char *path,
                 const struct layer_context *context, struct error *error)
{
  const struct file *opened = files_open (context->files, what, path, error);

  if (!opened)
    return -1;
  *file = imagefile_of (opened);
  return 0;
}

int
layer_set_backing (struct layer *layer, char *path, const char *format,
                   struct error *error)
{
  layer->backing = calloc (1, sizeof *layer->backing);
  if (!layer->backing) {
    free (path);
    return no_memory (error);
  }
  layer->backing->path = path;
  layer->backing->format = strdup (format);
  return path && layer->backing->format ? 0 : no_memory (error);
}

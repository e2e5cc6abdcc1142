/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All the layers of an image, one behind the other, as their headers tell.
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "format/imagefile.h"
#include "image/layer.h"
#include "image/layers.h"
#include "image/qemuname.h"
#include "io/file.h"

#define MAX_LAYERS 200

/* The header of FROM names LAYER, but not its format.  Only a qcow2 can be
 * told the format of what is behind it, and only where qemu-img can write it.
 */
static int
refuse_unknown_format (const struct layer *layer, const struct layer *from,
                       struct error *error)
{
  if (from->file.file && strcmp (from->format, "qcow2") == 0)
    return error_about (error, layer_name (from), "refused because the header "
                        "names the backing file '%s' but not its format: set "
                        "it with 'qemu-img rebase -u -b FILE -F FORMAT "
                        "IMAGE'", layer->path);
  return error_about (error, layer_name (from), "refused because the header "
                      "names the backing file '%s' but not its format: %s",
                      layer->path, QEMUNAME_ADVICE);
}

/* Open LAYER, which FROM names.  1, 0 if there is nothing to check behind it,
 * or -1.
 */
static int
open_named (struct layer *layer, const struct layer *from,
            const struct layer_context *context, struct error *error)
{
  const char *path;
  bool bytes = strcmp (layer->format, "raw") == 0 ||
    qemuname_is_protocol (layer->format);
  int r;

  if (!*layer->format)
    return refuse_unknown_format (layer, from, error);
  if (!bytes && !layer_is_format (layer->format))
    return error_about (error, layer_name (from), "refused because the format "
                        "of its backing file, '%s', is not one that blksum "
                        "can check", layer->format);
  r = qemuname_locate (layer_name (from), layer->path, &path, error);
  if (r == 1 &&
      layer_open_file (&layer->file, "the backing file", path, context,
                       error) == -1)
    return -1;
  if (r == 1)
    memmove (layer->path, path, strlen (path) + 1);
  return r == -1 ? -1 : !bytes;
}

/* Go from LAYER to the one behind it.  1, 0 at the end, or -1. */
static int
step (struct layer *layer, const struct layer_context *context,
      struct error *error)
{
  struct layer next = LAYER_NONE;
  int r = layer_check (layer, context, &next, error);

  if (r == 0 && next.path)
    r = open_named (&next, layer, context, error);
  layer_destroy (layer);
  *layer = next;
  return r;
}

/* Walk from LAYER, which is destroyed, to the end of the chain. */
static int
walk (struct layer *layer, const struct layer_context *context,
      struct error *error)
{
  int r = 1;

  for (unsigned n = 0; r == 1; n++)
    r = n < MAX_LAYERS ? step (layer, context, error)
      : error_set (error, "more than %d backing files, or a loop of them",
                   MAX_LAYERS);
  layer_destroy (layer);
  return r;
}

int
layers_check (const struct file *file, const char *format,
              const struct layer_context *context, struct error *error)
{
  struct layer layer = LAYER_NONE;

  if (!layer_is_format (format))
    return error_set (error, "'%s' is not a format that blksum can check",
                      format);
  layer.path = strdup (file->path);
  layer.format = strdup (format);
  layer.file = imagefile_of (file);
  if (layer.path && layer.format)
    return walk (&layer, context, error);
  layer_destroy (&layer);
  return error_set (error, "out of memory");
}

int
layers_check_named (struct layer *layer, const struct layer *from,
                    const struct layer_context *context, struct error *error)
{
  int r = open_named (layer, from, context, error);

  if (r == 1)
    return walk (layer, context, error);
  layer_destroy (layer);
  return r;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The backing chain of an image, as recorded in the image headers.
 */

#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "image/chain-check.h"
#include "image/layer.h"
#include "image/layer-check.h"
#include "image/qemuname.h"
#include "io/files.h"
#include "util/error.h"

#define MAX_LAYERS 200

/* Refuse a layer whose format is not recorded: the header of FROM names LAYER,
 * but not its format.
 */
static int
refuse_unknown_format (const struct layer *layer, const struct layer *from,
                       struct error *error)
{
  return imagefile_error (&from->file, error, "refused because the header "
                          "names the backing file '%s' but not its format: "
                          QEMUNAME_HINT, layer->path);
}

/* Open the backing layer of FROM.  Returns 1 if the layer must be checked, 0 if
 * it needs no check, or -1 on error.
 */
static int
open_backing (const struct layer *from, const struct layer_context *context,
              struct error *error)
{
  struct layer *layer = from->backing;
  bool raw = strcmp (layer->format, "raw") == 0;
  bool bytes = raw || qemuname_is_protocol (layer->format);
  const char *path;
  int r;

  if (!*layer->format)
    return refuse_unknown_format (layer, from, error);
  if (!bytes && !layer_is_format (layer->format))
    return imagefile_error (&from->file, error, "refused because the format of "
                            "its backing file, '%s', is not one that blksum "
                            "can check: copy the disk with 'qemu-img convert'",
                            layer->format);
  r = qemuname_locate (imagefile_name (&from->file), layer->path, &path, error);
  if (r == 1) {
    if (layer_open_file (&layer->file, "the backing file", path, context,
                         error) == -1)
      return -1;
    memmove (layer->path, path, strlen (path) + 1);
    if (raw) {
      layer->map = LAYER_RAW;
      layer->size = layer->file.size;
    }
  }
  if (r == 0 && !bytes)
    return imagefile_error (&from->file, error, "refused because its backing "
                            "file '%s' is a %s image " QEMUNAME_ON_SERVER,
                            layer->path, layer->format);
  context->files->remote |= r == 0;
  return r == -1 ? -1 : !bytes;
}

int
chain_check (struct layer *layer, const struct layer_context *context,
             struct error *error)
{
  for (unsigned n = 0; n < MAX_LAYERS; n++) {
    int r = layer_check (layer, context, error);

    if (r == 0 && n > 0)
      r = layer_check_below (layer, error);
    if (r == -1 || !layer->backing)
      return r;
    r = open_backing (layer, context, error);
    if (r != 1)
      return r;
    layer = layer->backing;
  }
  return error_set (error, "more than %d backing files, or a loop of them",
                    MAX_LAYERS);
}

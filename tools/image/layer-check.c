/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The header of a qcow2 is read by our own parser, before qemu opens any file,
 * because qemu would probe a backing file whose format is not recorded in the
 * header.  For a vmdk, qemu-img is run to report the backing file.  It opens
 * only this layer.
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "format/imagefile.h"
#include "format/qcow2-bitmaps.h"
#include "format/qcow2-map.h"
#include "format/vdi.h"
#include "format/vpc.h"
#include "image/layer.h"
#include "image/layer-check.h"
#include "image/layer-vmdk.h"
#include "image/qemuname.h"
#include "image/qemuopts.h"
#include "io/file.h"
#include "io/files.h"
#include "qemu/message.h"
#include "qemu/process.h"
#include "util/error.h"

/* ---- qcow2 ----------------------------------------------------------- */

int
layer_check_tables (struct layer *layer, const struct imagefile *data,
                    struct error *error)
{
  if (qcow2_check (&layer->file, data, &layer->qcow2, &layer->clusters,
                   error) == -1)
    return -1;
  layer->size = layer->qcow2.size;
  if (qcow2_map_fits (&layer->qcow2))
    layer->map = LAYER_QCOW2;
  return 0;
}

/* Check a qcow2 with an external data file, which its header must name.  qemu
 * resolves this name relative to the current directory, unlike that of a
 * backing file.
 */
static int
check_with_data (struct layer *layer, const struct layer_context *context,
                 struct error *error)
{
  const char *name = layer->qcow2.data_file, *path;
  struct imagefile data;
  int r;

  if (!*name)
    return imagefile_error (&layer->file, error, "refused because the header "
                            "does not name the data file: set it with "
                            "'qemu-img amend -o data_file=FILE --image-opts "
                            "driver=qcow2,file.filename=IMAGE,data-file.driver="
                            "file,data-file.filename=FILE'");
  r = qemuname_locate (imagefile_name (&layer->file), name, &path, error);
  if (r == 0)
    return imagefile_error (&layer->file, error, "refused because its data "
                            "file '%s' is " QEMUNAME_ON_SERVER, name);
  if (r == -1 || layer_open_file (&data, "the data file", path, context,
                                  error) == -1)
    return -1;
  return layer_check_tables (layer, &data, error);
}

static int
check_qcow2 (struct layer *layer, const struct layer_context *context,
             struct error *error)
{
  struct qcow2 *qcow2 = &layer->qcow2;
  int r;

  if (qcow2_read_header (&layer->file, qcow2, error) == -1 ||
      qcow2_check_bitmaps (&layer->file, qcow2, error) == -1)
    return -1;
  r = qcow2->has_data_file ? check_with_data (layer, context, error)
    : layer_check_tables (layer, &layer->file, error);
  if (r == 0 && qcow2->encrypted)
    return imagefile_error (&layer->file, error, "the qcow2 image is "
                            "encrypted: " LAYER_SECRET_HINT);
  if (r == -1 || !*qcow2->backing)
    return r;
  return layer_set_backing (layer,
                            qemuname_resolve (layer->path, qcow2->backing),
                            qcow2->backing_format, error);
}

/* ---- Queries by qemu-img ---------------------------------------------- */

static const char *
json_string (struct json_object *object, const char *key)
{
  const char *value =
    json_object_get_string (json_object_object_get (object, key));

  return value ? value : "";
}

/* Returns the argument of qemu-img for the image, or NULL if there is no
 * memory.
 */
static char *
target_of (const struct layer *layer, bool force_share)
{
  struct json_object *options =
    qemuopts_of_file (layer->format, layer->path,
                      file_is_block_device (layer->file.file), false);
  char *target = options ? qemuopts_target (options, force_share) : NULL;

  json_object_put (options);
  return target;
}

static int
run_qemu_img (const struct layer *layer, bool force_share, char **output,
              struct error *error)
{
  char *argv[6] = { "qemu-img", "info", "--output=json" };
  char *target = target_of (layer, force_share), *messages;
  const char *const targets[] = { target, NULL };
  int r, n = 3;

  if (!target)
    return error_set (error, "out of memory");
  if (!qemuopts_is_json (target))
    argv[n++] = "--image-opts";
  argv[n++] = target;
  r = process_run (argv, output, &messages, error);
  if (r == -1 && messages) {
    qemu_message_refine_error (error, messages, targets, layer->path,
                               !imagefile_name (&layer->file));
    free (messages);
  }
  free (target);
  return r;
}

static int
query_backing (struct layer *layer, const struct layer_context *context,
               struct error *error)
{
  struct json_object *info;
  const char *backing;
  char *output = NULL;
  int r;

  if (run_qemu_img (layer, context->files->force_share, &output, error) == -1)
    return -1;
  info = json_tokener_parse (output);
  free (output);
  if (!json_object_is_type (info, json_type_object))
    r = error_set (error, "cannot parse the output of qemu-img");
  else {
    backing = json_string (info, "full-backing-filename");
    r = !*backing ? 0
      : layer_set_backing (layer, strdup (backing),
                           json_string (info, "backing-filename-format"),
                           error);
  }
  json_object_put (info);
  return r;
}

/* ---- All formats ------------------------------------------------------ */

static int
check_vhdx (struct layer *layer, struct error *error)
{
  if (vhdx_check (&layer->file, &layer->vhdx, error) == -1)
    return -1;
  layer->size = layer->vhdx.size;
  if (layer->size > 0)
    layer->map = LAYER_VHDX;
  return 0;
}

int
layer_check (struct layer *layer, const struct layer_context *context,
             struct error *error)
{
  const char *format = layer->format;

  if (strcmp (format, "qcow2") == 0)
    return check_qcow2 (layer, context, error);
  if (strcmp (format, "vdi") == 0)
    return vdi_check (&layer->file, &layer->size, error);
  if (strcmp (format, "vhdx") == 0)
    return check_vhdx (layer, error);
  if (strcmp (format, "vpc") == 0)
    return vpc_check (&layer->file, &layer->size, context->warning, error);
  if (layer_vmdk_check (&layer->file, layer->path, context->files,
                        error) == -1)
    return -1;
  return query_backing (layer, context, error);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "format/formats.h"
#include "format/imagefile.h"
#include "format/probe.h"
#include "format/qcow2.h"
#include "image/layer-check.h"
#include "image/layer.h"
#include "image/qemuopts.h"
#include "io/file.h"
#include "qemu/qemu.h"
#include "util/error.h"

#define SECTOR 512              /* bytes */

/* ---- Files and layers ---- */

static int
no_memory (struct error *error)
{
  return error_set (error, "out of memory");
}

bool
layer_is_format (const char *driver)
{
  return strcmp (driver, "raw") != 0 && format_is_known (driver);
}

/* Open PATH, a file of the image, and set FILE to it.  WHAT is its role, for
 * messages.
 */
static int
open_file (struct imagefile *file, const char *what, const char *path,
           const struct layer_context *context, struct error *error)
{
  const struct file *opened = files_open (context->files, what, path, error);

  if (!opened)
    return -1;
  *file = imagefile_of (opened);
  return 0;
}

/* Set the backing layer of LAYER to PATH in FORMAT, which is copied.  LAYER
 * takes ownership of PATH, also on error.  A PATH of NULL is an error.
 */
static int
set_backing (struct layer *layer, char *path, const char *format,
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

/* ---- vmdk ---- */

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
    return no_memory (error);
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

/* Check that the image in FILE, at PATH, and its extents are complete.  The
 * extents are opened and added to FILES.  The backing file is not checked.
 */
static int
check_vmdk (const struct imagefile *file, const char *path,
            struct files *files, struct error *error)
{
  struct vmdk_check check = { .file = file, .path = path, .files = files };
  uint64_t memory;

  if (vmdk_extents (file, check_extent, &check, error) == -1)
    return -1;
  return check_grains (file, &memory, error);
}

/* ---- qcow2 ---- */

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
  enum answer local;

  if (!*name)
    return imagefile_error (&layer->file, error, "refused because the header "
                            "does not name the data file: set it with "
                            "'qemu-img amend -o data_file=FILE --image-opts "
                            "driver=qcow2,file.filename=IMAGE,data-file.driver="
                            "file,data-file.filename=FILE'");
  local = qemuname_locate (imagefile_name (&layer->file), name, &path, error);
  if (local == ANSWER_NO)
    return imagefile_error (&layer->file, error, "refused because its data "
                            "file '%s' is " QEMUNAME_ON_SERVER, name);
  if (local == ANSWER_FAILED ||
      open_file (&data, "the data file", path, context, error) == -1)
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
  return set_backing (layer, qemuname_resolve (layer->path, qcow2->backing),
                      qcow2->backing_format, error);
}

/* ---- Queries by qemu-img ---- */

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
    return no_memory (error);
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
      : set_backing (layer, strdup (backing),
                     json_string (info, "backing-filename-format"), error);
  }
  json_object_put (info);
  return r;
}

/* ---- All formats ---- */

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
  if (check_vmdk (&layer->file, layer->path, context->files, error) == -1)
    return -1;
  return query_backing (layer, context, error);
}

/* ---- The backing chain ---- */

#define MAX_LAYERS 200

/* Refuse a layer below the top whose size is not in whole sectors: qemu reads
 * it as if it had another size.
 */
static int
check_below (const struct layer *layer, struct error *error)
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

/* Open the backing layer of FROM.  Must it be checked? */
static enum answer
open_backing (const struct layer *from, const struct layer_context *context,
              struct error *error)
{
  struct layer *layer = from->backing;
  bool raw = strcmp (layer->format, "raw") == 0;
  bool bytes = raw || qemuname_is_protocol (layer->format);
  enum answer local;
  const char *path;

  if (!*layer->format)
    return refuse_unknown_format (layer, from, error);
  if (!bytes && !layer_is_format (layer->format))
    return imagefile_error (&from->file, error, "refused because the format of "
                            "its backing file, '%s', is not one that blksum "
                            "can check: copy the disk with 'qemu-img convert'",
                            layer->format);
  local = qemuname_locate (imagefile_name (&from->file), layer->path, &path,
                           error);
  if (local == ANSWER_FAILED)
    return ANSWER_FAILED;
  if (local == ANSWER_YES) {
    if (open_file (&layer->file, "the backing file", path, context,
                   error) == -1)
      return ANSWER_FAILED;
    memmove (layer->path, path, strlen (path) + 1);
    if (raw) {
      layer->map = LAYER_RAW;
      layer->size = layer->file.size;
    }
  }
  if (local == ANSWER_NO && !bytes)
    return imagefile_error (&from->file, error, "refused because its backing "
                            "file '%s' is a %s image " QEMUNAME_ON_SERVER,
                            layer->path, layer->format);
  context->files->remote |= local == ANSWER_NO;
  return bytes ? ANSWER_NO : ANSWER_YES;
}

int
chain_check (struct layer *layer, const struct layer_context *context,
             struct error *error)
{
  for (unsigned n = 0; n < MAX_LAYERS; n++) {
    int r = layer_check (layer, context, error);

    if (r == 0 && n > 0)
      r = check_below (layer, error);
    if (r == -1 || !layer->backing)
      return r;
    switch (open_backing (layer, context, error)) {
    case ANSWER_FAILED: return -1;
    case ANSWER_NO: return 0;
    case ANSWER_YES: break;
    }
    layer = layer->backing;
  }
  return error_set (error, "more than %d backing files, or a loop of them",
                    MAX_LAYERS);
}

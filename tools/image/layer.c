/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One layer of an image.
 *
 * A qcow2 is read by us alone, before qemu opens anything: a header that names
 * a backing file but not its format makes qemu probe that file.  What layers
 * in other formats (vmdk, qed, qcow) or on servers have behind them is asked
 * of qemu-img, which opens one layer at a time.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "format/format.h"
#include "format/imagefile.h"
#include "format/other-tables.h"
#include "format/qcow2.h"
#include "format/qcow2-bitmaps.h"
#include "format/vdi.h"
#include "format/vhdx.h"
#include "format/vmdk.h"
#include "format/vmdk-directory.h"
#include "format/vmdk-extents.h"
#include "format/vpc.h"
#include "image/fileset.h"
#include "image/layer.h"
#include "image/qemuname.h"
#include "image/qemuopts.h"
#include "io/lock.h"
#include "qemu/message.h"
#include "qemu/process.h"

void
layer_destroy (struct layer *layer)
{
  if (layer->file.fd != -1)
    close (layer->file.fd);
  if (layer->data.fd != -1)
    close (layer->data.fd);
  free (layer->path);
  free (layer->format);
  json_object_put (layer->options);
  free (layer->data_path);
}

bool
layer_is_format (const char *driver)
{
  return strcmp (driver, "raw") != 0 && format_is_known (driver);
}

static int
no_memory (struct error *error)
{
  return error_set (error, "out of memory");
}

/* ---- Files ----------------------------------------------------------- */

/* qemu locks it, too, but not what it takes raw. */
static int
lock_file (const struct imagefile *file, const struct layer_context *context,
           struct error *error)
{
  struct error reason = { "" };

  if (context->force_share || lock_image (file->fd, true, &reason) == 0)
    return 0;
  return error_set (error, "'%s' %s", file->name, reason.text);
}

int
layer_open_file (struct imagefile *file, const char *what, const char *path,
                 const struct layer_context *context, struct error *error)
{
  struct stat st;
  off_t size;

  /* A pipe would block the open, and without it the reads fail. */
  *file = (struct imagefile) { .name = path };
  file->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->fd == -1)
    return error_errno (error, errno, "cannot open %s '%s'", what, path);
  if (fstat (file->fd, &st) == -1 ||
      (size = lseek (file->fd, 0, SEEK_END)) == -1)
    error_errno (error, errno, "cannot get the size of %s '%s'", what, path);
  else if (!S_ISREG (st.st_mode) && !S_ISBLK (st.st_mode))
    error_set (error, "%s '%s' is not a file or block device", what, path);
  else if (lock_file (file, context, error) == 0 &&
           fileset_add (context->files, path, file->fd, error) == 0) {
    file->size = size;
    return 0;
  }
  close (file->fd);
  file->fd = -1;
  return -1;
}

static bool
is_block_device (int fd)
{
  struct stat st;

  return fstat (fd, &st) == 0 && S_ISBLK (st.st_mode);
}

static int
set_next (struct layer *next, char *path, const char *format,
          struct error *error)
{
  next->path = path;
  next->format = strdup (format);
  return path && next->format ? 0 : no_memory (error);
}

/* ---- qcow2 ----------------------------------------------------------- */

/* Check a qcow2 whose header names its data file.  qemu takes the name, other
 * than that of a backing file, as relative to the current directory.
 */
static int
check_with_data (const struct layer *layer, const struct qcow2 *qcow2,
                 const struct layer_context *context, struct error *error)
{
  struct imagefile data = { .fd = -1 };
  const char *path;
  int r = 0;

  if (*qcow2->data_file)
    r = qemuname_locate (&layer->file, qcow2->data_file, &path, error);
  if (r == 1)
    r = layer_open_file (&data, "the data file", path, context, error);
  if (r == 0)
    r = qcow2_check (&layer->file, data.fd == -1 ? NULL : &data, qcow2, error);
  if (data.fd != -1)
    close (data.fd);
  return r;
}

static int
check_qcow2 (const struct layer *layer, const struct layer_context *context,
             struct layer *next, struct error *error)
{
  const struct imagefile *data = &layer->file;
  struct qcow2 qcow2;
  int r;

  if (qcow2_read_header (&layer->file, &qcow2, error) == -1 ||
      qcow2_check_bitmaps (&layer->file, &qcow2, error) == -1)
    return -1;
  if (qcow2.encrypted && !context->secrets)
    return imagefile_error (&layer->file, error, "the qcow2 image is "
                            "encrypted: give its secret with --object and "
                            "--image-opts");
  if (qcow2.has_data_file && !layer->data_given)
    r = check_with_data (layer, &qcow2, context, error);
  else {
    if (qcow2.has_data_file)
      data = layer->data.fd == -1 ? NULL : &layer->data;
    r = qcow2_check (&layer->file, data, &qcow2, error);
  }
  if (r == -1 || !*qcow2.backing || layer->backing_given)
    return r;
  return set_next (next, qemuname_resolve (layer->path, qcow2.backing),
                   qcow2.backing_format, error);
}

/* ---- vmdk ------------------------------------------------------------ */

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
    return no_memory (error);
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
    close (file.fd);
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

static int
check_vmdk (const struct layer *layer, const struct layer_context *context,
            struct error *error)
{
  struct vmdk_check check = { .layer = layer, .context = context };
  uint64_t memory;

  if (vmdk_extents (&layer->file, check_extent, &check, error) == -1)
    return -1;
  return check_grains (&layer->file, &memory, error);
}

/* ---- What only qemu can tell ------------------------------------------ */

static const char *
json_string (struct json_object *object, const char *key)
{
  const char *value =
    json_object_get_string (json_object_object_get (object, key));

  return value ? value : "";
}

/* What qemu-img is to open; NULL if there is no memory. */
static char *
target_of (const struct layer *layer, bool force_share)
{
  struct json_object *options = layer->options
    ? json_object_get (layer->options)
    : qemuopts_of_file (layer->format, layer->path,
                        is_block_device (layer->file.fd), false);
  char *target = options ? qemuopts_target (options, force_share) : NULL;

  json_object_put (options);
  return target;
}

static int
run_qemu_img (const struct layer *layer, bool force_share, char **output,
              struct error *error)
{
  char *argv[8] = { "qemu-img", "info", "--output=json" };
  char *target = NULL, *said;
  const char *targets[2] = { NULL };
  int r, n = 3;

  if (layer->file.fd == -1 && !layer->options) {
    argv[n++] = "-f";
    argv[n++] = layer->format;
    argv[n++] = "--";
    argv[n++] = layer->path;
  }
  else {
    target = target_of (layer, force_share);
    if (!target)
      return no_memory (error);
    if (!qemuopts_is_json (target))
      argv[n++] = "--image-opts";
    argv[n++] = target;
  }
  r = process_run (argv, output, &said, error);
  if (r == -1 && said) {
    targets[0] = target ? target : layer->path;
    qemu_message_explain (error, said, targets, layer->path,
                          !layer->file.name);
    free (said);
  }
  free (target);
  return r;
}

static int
ask_qemu (const struct layer *layer, const struct layer_context *context,
          struct layer *next, struct error *error)
{
  struct json_object *info;
  const char *backing;
  char *output = NULL;
  int r;

  if (run_qemu_img (layer, context->force_share, &output, error) == -1)
    return -1;
  info = json_tokener_parse (output);
  free (output);
  if (!json_object_is_type (info, json_type_object))
    r = error_set (error, "cannot understand the output of qemu-img");
  else {
    backing = json_string (info, "full-backing-filename");
    r = !*backing ? 0
      : set_next (next, strdup (backing),
                  json_string (info, "backing-filename-format"), error);
  }
  json_object_put (info);
  return r;
}

/* ---- All formats ------------------------------------------------------ */

static bool
has_backing (const char *format)
{
  return strcmp (format, "qcow2") == 0 || strcmp (format, "vmdk") == 0 ||
    strcmp (format, "qed") == 0 || strcmp (format, "qcow") == 0;
}

int
layer_check (const struct layer *layer, const struct layer_context *context,
             struct layer *next, struct error *error)
{
  const char *format = layer->format;
  bool is_local = layer->file.fd != -1;

  if (is_local && strcmp (format, "qcow2") == 0)
    return check_qcow2 (layer, context, next, error);
  if (is_local && strcmp (format, "vdi") == 0)
    return vdi_check (&layer->file, error);
  if (is_local && strcmp (format, "vhdx") == 0)
    return vhdx_check (&layer->file, error);
  if (strcmp (format, "vpc") == 0)
    return is_local ? vpc_check (&layer->file, error)
      : error_set (error, "refused because a vpc image can have a parent, "
                   "which is only checked in a local file: copy it first");
  if (is_local && other_tables_check (&layer->file, format, error) == -1)
    return -1;
  if (is_local && strcmp (format, "vmdk") == 0 &&
      check_vmdk (layer, context, error) == -1)
    return -1;
  if (layer->backing_given || !has_backing (format))
    return 0;
  return ask_qemu (layer, context, next, error);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All the files that make an image.
 *
 * The chain is walked by our own reading of the headers, before qemu opens
 * anything: a qcow2 whose header names a backing file but not its format
 * makes qemu probe that file, and who wrote the file then chooses how it is
 * read.  Of the other formats with backing files (vmdk, qed, qcow) qemu-img
 * tells what they name; it opens one layer at a time.
 *
 * Backing files that are not local files (nbd:..., json:...) end the walk:
 * they are left to qemu.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "imagefile.h"
#include "layers.h"
#include "process.h"
#include "qcow2.h"
#include "qemuopts.h"
#include "vdi.h"
#include "vhdx.h"
#include "vmdk.h"

#define MAX_LAYERS 200

/* One layer of the walk.  What is behind it becomes the next one. */
struct layer {
  char *path;
  char *format;                 /* empty: not recorded */
  char *data_name;              /* NULL: the header says */
  struct imagefile file;
};

/* What the user asked for. */
struct policy {
  bool force_share;
  bool secrets;                 /* the user can give secrets to qemu */
};

static void
layer_destroy (struct layer *layer)
{
  if (layer->file.fd != -1)
    close (layer->file.fd);
  free (layer->path);
  free (layer->format);
  free (layer->data_name);
}

static int
no_memory (struct error *error)
{
  return error_set (error, "out of memory");
}

/* ---- Files ----------------------------------------------------------- */

/* Open PATH, as a part of an image.  0 or -1. */
static int
open_file (struct imagefile *file, const char *path, struct error *error)
{
  struct stat st;
  off_t size;

  /* A pipe would block the open, and without it the reads fail. */
  file->name = path;
  file->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->fd == -1)
    return error_errno (error, errno, "cannot open '%s', which the image "
                        "names", path);
  if (fstat (file->fd, &st) == -1 ||
      (size = lseek (file->fd, 0, SEEK_END)) == -1)
    error_errno (error, errno, "cannot get the size of '%s'", path);
  else if (!S_ISREG (st.st_mode) && !S_ISBLK (st.st_mode))
    error_set (error, "'%s', which the image names, is not a file or block "
               "device", path);
  else {
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

/* Would qemu take the name for that of a protocol?  Its rule. */
static bool
has_protocol (const char *name)
{
  return name[strcspn (name, ":/")] == ':';
}

/* What NAME in the header of the image PATH means: relative names are
 * relative to the image.
 */
static char *
resolve (const char *path, const char *name)
{
  const char *slash = strrchr (path, '/');
  char *full;

  if (*name == '/' || has_protocol (name) || !slash)
    return strdup (name);
  if (asprintf (&full, "%.*s/%s", (int) (slash - path), path, name) == -1)
    return NULL;
  return full;
}

/* ---- One layer ------------------------------------------------------- */

static int
set_next (struct layer *next, char *path, const char *format,
          struct error *error)
{
  next->path = path;
  next->format = strdup (format);
  return path && next->format ? 0 : no_memory (error);
}

/* Check a qcow2 with its data file, whose name qemu, other than that of a
 * backing file, takes as relative to the current directory.
 */
static int
check_with_data (const struct imagefile *file, const struct qcow2 *qcow2,
                 const char *data_name, struct error *error)
{
  struct imagefile data = { .fd = -1 };
  int r;

  if (!qcow2->has_data_file)
    return qcow2_check (file, file, qcow2, error);
  if (!*data_name || has_protocol (data_name))
    return qcow2_check (file, NULL, qcow2, error);
  if (open_file (&data, data_name, error) == -1)
    return -1;
  r = qcow2_check (file, &data, qcow2, error);
  close (data.fd);
  return r;
}

static int
check_qcow2 (const struct layer *layer, const struct policy *policy,
             struct layer *next, struct error *error)
{
  const char *data_name = layer->data_name;
  struct qcow2 qcow2;

  if (qcow2_read_header (&layer->file, &qcow2, error) == -1)
    return -1;
  if (qcow2.encrypted && !policy->secrets)
    return imagefile_error (&layer->file, error, "the qcow2 image is "
                            "encrypted: give its secret with --object and "
                            "--image-opts");
  if (check_with_data (&layer->file, &qcow2,
                       data_name ? data_name : qcow2.data_file, error) == -1)
    return -1;
  if (!*qcow2.backing)
    return 0;
  return set_next (next, resolve (layer->path, qcow2.backing),
                   qcow2.backing_format, error);
}

static const char *
json_string (struct json_object *object, const char *key)
{
  const char *value =
    json_object_get_string (json_object_object_get (object, key));

  return value ? value : "";
}

/* Check an extent, in the form in which qemu-img tells of it. */
static int
check_vmdk_extent (struct json_object *extent, struct error *error)
{
  struct json_object *size = json_object_object_get (extent, "virtual-size");
  const char *path = json_string (extent, "filename");
  const char *format = json_string (extent, "format");
  struct imagefile file = { .fd = -1 };
  unsigned char head[4];
  int r = -1;

  if (!*format || !*path || has_protocol (path))
    return 0;                   /* the image itself, or left to qemu */
  if (open_file (&file, path, error) == -1)
    return -1;
  if (strcmp (format, "FLAT") == 0 || strcmp (format, "VMFS") == 0)
    r = imagefile_check (&file, "an extent", 0, json_object_get_int64 (size),
                         error);
  else if (imagefile_read (&file, "the header", head, sizeof head, 0,
                           error) == 0)
    r = vmdk_is_sparse (head) ? vmdk_check (&file, error) : 0;
  close (file.fd);
  return r;
}

static int
check_vmdk_extents (struct json_object *info, struct error *error)
{
  struct json_object *object = info;

  object = json_object_object_get (object, "format-specific");
  object = json_object_object_get (object, "data");
  object = json_object_object_get (object, "extents");
  if (!json_object_is_type (object, json_type_array))
    return 0;
  for (size_t i = 0, n = json_object_array_length (object); i < n; i++)
    if (check_vmdk_extent (json_object_array_get_idx (object, i), error) == -1)
      return -1;
  return 0;
}

/* Ask qemu-img what the layer names. */
static int
ask_qemu (const struct layer *layer, const struct policy *policy,
          struct layer *next, struct error *error)
{
  char *opts = qemuopts_string (layer->format, layer->path,
                                is_block_device (layer->file.fd),
                                policy->force_share);
  char *argv[] = { "qemu-img", "info", "--output=json", "--image-opts",
                   opts, NULL };
  char *output = NULL;
  struct json_object *info;
  const char *backing;
  int r;

  if (!opts)
    return no_memory (error);
  r = process_run (argv, &output, error);
  free (opts);
  if (r == -1)
    return -1;
  info = json_tokener_parse (output);
  free (output);
  if (!json_object_is_type (info, json_type_object))
    r = error_set (error, "cannot understand the output of qemu-img");
  else if ((r = check_vmdk_extents (info, error)) == 0 &&
           *(backing = json_string (info, "full-backing-filename")))
    r = set_next (next, strdup (backing),
                  json_string (info, "backing-filename-format"), error);
  json_object_put (info);
  return r;
}

static int
check_vmdk (const struct layer *layer, struct error *error)
{
  unsigned char head[4];

  if (imagefile_read (&layer->file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return -1;
  return vmdk_is_sparse (head) ? vmdk_check (&layer->file, error) : 0;
}

/* Check a layer and store what is behind it in NEXT; its path stays NULL if
 * there is nothing.
 */
static int
check_layer (const struct layer *layer, const struct policy *policy,
             struct layer *next, struct error *error)
{
  const char *format = layer->format;

  if (strcmp (format, "qcow2") == 0)
    return check_qcow2 (layer, policy, next, error);
  if (strcmp (format, "vdi") == 0)
    return vdi_check (&layer->file, error);
  if (strcmp (format, "vhdx") == 0)
    return vhdx_check (&layer->file, error);
  if (strcmp (format, "vmdk") == 0 && check_vmdk (layer, error) == -1)
    return -1;
  if (strcmp (format, "vmdk") == 0 || strcmp (format, "qed") == 0 ||
      strcmp (format, "qcow") == 0)
    return ask_qemu (layer, policy, next, error);
  return 0;
}

/* ---- The chain ------------------------------------------------------- */

/* Go from LAYER to the one behind it, if it can be checked.  1, 0 at the end
 * of the walk, or -1.
 */
static int
step (struct layer *layer, const struct policy *policy, struct error *error)
{
  struct layer next = { .file.fd = -1 };
  int r = check_layer (layer, policy, &next, error);

  if (r == 0 && next.path) {
    if (!*next.format)
      r = imagefile_error (&layer->file, error, "refused because the header "
                           "names the backing file '%s' but not its format: "
                           "set it with 'qemu-img rebase -u -b FILE -F FORMAT "
                           "IMAGE'", next.path);
    else if (strcmp (next.format, "raw") != 0 && !has_protocol (next.path))
      r = open_file (&next.file, next.path, error) == -1 ? -1 : 1;
  }
  layer_destroy (layer);
  *layer = next;
  return r;
}

/* Walk from LAYER, which is destroyed, to the end of the chain. */
static int
walk (struct layer *layer, const struct policy *policy, struct error *error)
{
  int r = 1;

  for (unsigned n = 0; r == 1; n++)
    r = n < MAX_LAYERS ? step (layer, policy, error)
      : error_set (error, "more than %d backing files, or a loop of them",
                   MAX_LAYERS);
  layer_destroy (layer);
  return r;
}

int
layers_check (const struct imagefile *file, const char *path,
              const char *format, bool force_share, struct error *error)
{
  const struct policy policy = { .force_share = force_share };
  struct layer layer = { .file = *file };

  layer.path = strdup (path);
  layer.format = strdup (format);
  layer.file.fd = fcntl (file->fd, F_DUPFD_CLOEXEC, 0);
  if (layer.path && layer.format && layer.file.fd != -1)
    return walk (&layer, &policy, error);
  error_errno (error, errno, "cannot check the image");
  layer_destroy (&layer);
  return -1;
}

/* The value of the option NAME of the layer whose options start with PREFIX. */
static char *
get_option (const char *opts, const char *prefix, const char *name)
{
  char key[1024];

  snprintf (key, sizeof key, "%s%s", prefix, name);
  return qemuopts_get (opts, key);
}

static bool
has_option (const char *opts, const char *prefix, const char *name)
{
  char key[1024];

  snprintf (key, sizeof key, "%s%s", prefix, name);
  return qemuopts_has (opts, key);
}

/* The layer that the options that start with PREFIX describe.  Its path is
 * NULL if it is not simply a format in a local file.
 */
static int
layer_from_opts (const char *opts, const char *prefix, struct layer *layer,
                 struct error *error)
{
  char *protocol = get_option (opts, prefix, "file.driver");
  bool local = !protocol || strcmp (protocol, "file") == 0 ||
    strcmp (protocol, "host_device") == 0;

  *layer = (struct layer) { .file.fd = -1 };
  layer->format = get_option (opts, prefix, "driver");
  layer->path = get_option (opts, prefix, "file.filename");
  layer->data_name = get_option (opts, prefix, "data-file.filename");
  if (!layer->format || !layer->path || !local ||
      (!protocol && has_protocol (layer->path))) {
    free (layer->path);
    layer->path = NULL;
  }
  free (protocol);
  return layer->path ? open_file (&layer->file, layer->path, error) : 0;
}

int
layers_check_opts (const char *opts, bool force_share, struct error *error)
{
  const struct policy policy = { .force_share = force_share,
                                 .secrets = true };
  char prefix[512] = "";
  struct layer layer, ignored;
  int r = 0;

  /* A backing file that the user gave takes the place of the header's. */
  while (r == 0 && has_option (opts, prefix, "backing") &&
         strlen (prefix) < sizeof prefix - sizeof "backing.") {
    ignored = (struct layer) { .file.fd = -1 };
    r = layer_from_opts (opts, prefix, &layer, error);
    if (r == 0 && layer.path)
      r = check_layer (&layer, &policy, &ignored, error);
    layer_destroy (&layer);
    layer_destroy (&ignored);
    strcat (prefix, "backing.");
  }
  if (r == -1)
    return -1;
  r = layer_from_opts (opts, prefix, &layer, error);
  if (r == 0 && layer.path)
    return walk (&layer, &policy, error);
  layer_destroy (&layer);
  return r;
}

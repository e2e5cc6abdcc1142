/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "../lib/common/util.h"
#include "format/formats.h"
#include "format/imagefile.h"
#include "format/probe.h"
#include "format/qcow2.h"
#include "image/image.h"
#include "image/layer-check.h"
#include "image/qemuopts.h"
#include "io/file.h"

/* Refuse a qcow2 image whose format was probed, and which names the file NAME.
 */
static int
refuse_named_file (const char *what, const char *name, struct error *error)
{
  if (!qemuname_is_checkable (name))
    return error_set (error, "refused because it is a qcow2 image whose "
                      "header names %s '%s', which cannot be checked: "
                      QEMUNAME_HINT ", or use -f raw to hash the bytes of "
                      "this file", what, name);
  return error_set (error, "refused because it is a qcow2 image whose header "
                    "names %s%s%s%s: use -f qcow2 to trust the header and "
                    "read what it names, or -f raw to hash the bytes of this "
                    "file", what, *name ? " '" : "", name, *name ? "'" : "");
}

static int
inspect_qcow2 (struct layer *layer, struct error *error)
{
  struct qcow2 *qcow2 = &layer->qcow2;

  if (qcow2_read_header (&layer->file, qcow2, error) == -1)
    return -1;
  if (*qcow2->backing)
    return refuse_named_file ("the backing file", qcow2->backing, error);
  if (qcow2->has_data_file)
    return refuse_named_file ("a data file", qcow2->data_file, error);
  if (qcow2_check_bitmaps (&layer->file, qcow2, error) == -1 ||
      layer_check_tables (layer, &layer->file, error) == -1)
    return -1;
  if (qcow2->encrypted)
    return error_set (error, "refused because it is an encrypted qcow2 image: "
                      LAYER_SECRET_HINT ", or use -f raw to hash the bytes of "
                      "this file");
  return 0;
}

/* Refuse a format that blksum does not read, or does not read unless the user
 * gives it, as an image can name other files, or can be raw with a footer.
 */
static int
refuse_format (const char *format, struct error *error)
{
  if (format_is_unread (format))
    return error_set (error, "refused because it looks like a %s image, which "
                      "cannot be read: " FORMAT_CONVERT_HINT ", or use -f raw "
                      "to hash the bytes of this file", format, format);
  return error_set (error, "refused because it looks like a %s image, a "
                    "format that is read only on request: use -f %s to read "
                    "the disk in it, or -f raw to hash the bytes of this "
                    "file", format, format);
}

static int
inspect_vmdk (const struct imagefile *file, const unsigned char *head,
              struct error *error)
{
  if (vmdk_is_cowd (head))
    return vmdk_refuse_esx (file, "vmfsSparse", error);
  if (!vmdk_is_sparse (head))
    return refuse_format ("vmdk", error);
  if (vmdk_check_self_contained (file, error) == -1)
    return -1;
  return vmdk_check (file, error);
}

/* Check an image whose format was probed. */
static int
inspect_probed (struct layer *layer, const unsigned char *head,
                const struct layer_context *context, struct error *error)
{
  const struct imagefile *file = &layer->file;
  const char *format = layer->format;

  if (strcmp (format, "qcow2") == 0)
    return inspect_qcow2 (layer, error);
  if (strcmp (format, "vmdk") == 0)
    return inspect_vmdk (file, head, error);
  if (strcmp (format, "vdi") == 0 || strcmp (format, "vhdx") == 0)
    return layer_check (layer, context, error);
  if (strcmp (format, "vpc") == 0 && layer_check (layer, context, error) == -1)
    return -1;
  if (strcmp (format, "luks2") == 0)
    return error_set (error, "refused because it is a LUKS2 container, which "
                      "qemu cannot open: use -f raw to hash the encrypted "
                      "bytes, or open it with cryptsetup and hash "
                      "/dev/mapper/NAME");
  if (strcmp (format, "manifest") == 0)
    return error_set (error, "refused because it looks like a manifest: "
                      "use manifest:NAME to read it as one, or -f raw "
                      "to hash the bytes of this file");
  if (strcmp (format, "luks") == 0)
    return error_set (error, "refused because it is a LUKS container: "
                      LAYER_SECRET_HINT ", or use -f raw to hash the encrypted "
                      "bytes");
  return refuse_format (format, error);
}

static int
set_format (struct image_info *info, const char *format, bool probed,
            struct error *error)
{
  int n = snprintf (info->format, sizeof info->format, "%s", format);

  info->probed = probed;
  if (n == 0 || n >= sizeof info->format)
    return error_set (error, "unknown format '%s'", format);
  return 0;
}

/* Probe the last bytes of FILE.  Returns NULL on error. */
static const char *
probe_last (const struct imagefile *file, struct error *warning,
            struct error *error)
{
  size_t len = MIN (file->size, PROBE_SIZE);
  unsigned char end[PROBE_SIZE];
  const char *format;
  bool damaged;

  if (imagefile_read (file, "the last bytes", end, len, file->size - len,
                      error) == -1)
    return NULL;
  format = probe_end (end, len, &damaged);
  if (damaged)
    error_set (warning, "ends like a vpc image whose footer is damaged, and is "
               "hashed as raw, with this footer: -f raw if this is right");
  return format;
}

/* Probe the format of the file, and store its first bytes in HEAD.  Returns
 * NULL on error.
 */
static const char *
probe (const struct imagefile *file, unsigned char head[PROBE_SIZE],
       struct error *warning, struct error *error)
{
  size_t len = MIN (file->size, PROBE_SIZE);
  const char *format;

  /* Most images are raw, and are probed by both their first and last bytes.
   * Prefetch the end, to wait for the storage only once.
   */
  file_prefetch_table (file->file, len, file->start + file->size - len);
  if (imagefile_read (file, "the first bytes", head, len, 0, error) == -1)
    return NULL;
  format = probe_format (head, len);
  return strcmp (format, "raw") == 0 ? probe_last (file, warning, error)
                                     : format;
}

/* Inspect an image whose format the user gave. */
static int
inspect_given (struct image_info *info, struct file *file, const char *format,
               struct files *files, struct error *error)
{
  const struct layer_context context = {
    .files = files, .warning = &info->warning
  };

  if (set_format (info, format, false, error) == -1)
    return -1;
  if (strcmp (format, "raw") == 0)
    return 0;
  if (!layer_is_format (format))
    return error_set (error, "'%s' is not a format that blksum can check",
                      format);
  file->by_path = true;
  if (layer_init (&info->top, file, format, error) == -1)
    return -1;
  return chain_check (&info->top, &context, error);
}

static int
probe_and_inspect (struct image_info *info, const struct file *file,
                   struct files *files, struct error *error)
{
  const struct layer_context context = {
    .files = files, .warning = &info->warning
  };
  const struct imagefile all = imagefile_of (file);
  unsigned char head[PROBE_SIZE];
  const char *format = probe (&all, head, &info->warning, error);

  if (!format || set_format (info, format, true, error) == -1)
    return -1;
  if (strcmp (format, "raw") == 0)
    return 0;
  if (layer_init (&info->top, file, format, error) == -1)
    return -1;
  return inspect_probed (&info->top, head, &context, error);
}

const char *
image_probe (const struct file *file, struct error *error)
{
  const struct imagefile all = imagefile_of (file);
  struct error warning = { "" };
  unsigned char head[PROBE_SIZE];

  return probe (&all, head, &warning, error);
}

int
image_check_stream (const struct file *file, uint64_t start,
                    struct error *warning, struct error *error)
{
  const struct imagefile image = {
    .file = file, .start = start,
    .size = file->size > start ? file->size - start : 0,
  };
  const char *format = probe_last (&image, warning, error);

  if (!format)
    return -1;
  if (strcmp (format, "vpc") == 0)
    return error_set (error, "refused because it ends like a vpc image: use "
                      "-f vpc and its name, not standard input, to read the "
                      "disk in it, or -f raw to hash its bytes");
  return 0;
}

void
image_info_destroy (struct image_info *info)
{
  layer_destroy (&info->top);
}

int
image_inspect (struct file *file, const char *format, struct files *files,
               struct image_info *info, struct error *error)
{
  int r;

  info->top = (struct layer) LAYER_NONE;
  info->warning = (struct error) { "" };
  r = format ? inspect_given (info, file, format, files, error)
    : probe_and_inspect (info, file, files, error);
  info->size = info->top.size;
  if (r == -1)
    image_info_destroy (info);
  return r;
}

char *
image_qemu_opts (const struct image_info *info, const char *path,
                 bool is_block_device, bool force_share)
{
  struct json_object *options =
    qemuopts_of_file (info->format, path, is_block_device, info->probed);
  bool set = options && qemuopts_set_vpc_size (options, &info->top);
  char *target = set ? qemuopts_target (options, force_share) : NULL;

  json_object_put (options);
  return target;
}

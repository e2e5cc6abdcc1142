/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How may an image file be read?
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/imagefile.h"
#include "format/probe.h"
#include "format/qcow2.h"
#include "format/qcow2-bitmaps.h"
#include "format/qcow2-check.h"
#include "format/vdi.h"
#include "format/vhdx.h"
#include "format/vmdk.h"
#include "format/vpc.h"
#include "image/image.h"
#include "image/layer.h"
#include "image/layers.h"
#include "image/nodes.h"
#include "image/qemuname.h"
#include "image/qemuopts.h"
#include "io/file.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* Refuse a qcow2 that was probed and names NAME. */
static int
refuse_named_file (const char *what, const char *name, struct error *error)
{
  if (!qemuname_is_known (name))
    return error_set (error, "refused because it is a qcow2 image whose "
                      "header names %s '%s', which cannot be checked: "
                      QEMUNAME_ADVICE ", or use -f raw to hash the bytes of "
                      "this file", what, name);
  return error_set (error, "refused because it is a qcow2 image whose header "
                    "names %s%s%s%s: use -f qcow2 to trust the header and "
                    "read what it names, or -f raw to hash the bytes of this "
                    "file", what, *name ? " '" : "", name, *name ? "'" : "");
}

static int
inspect_qcow2 (const struct imagefile *file, struct error *error)
{
  struct qcow2 qcow2;

  if (qcow2_read_header (file, &qcow2, error) == -1)
    return -1;
  if (*qcow2.backing)
    return refuse_named_file ("the backing file", qcow2.backing, error);
  if (qcow2.has_data_file)
    return refuse_named_file ("a data file", qcow2.data_file, error);
  if (qcow2.encrypted)
    return error_set (error, "refused because it is an encrypted qcow2 image: "
                      "give its secret with --object and --image-opts, or "
                      "use -f raw to hash the bytes of this file");
  return qcow2_check_bitmaps (file, &qcow2, error) == -1 ? -1
    : qcow2_check (file, file, &qcow2, error);
}

/* Refuse an image in a format that can name other files, or that we cannot
 * tell to be complete.
 */
static int
refuse_format (const char *format, struct error *error)
{
  return error_set (error, "refused because it looks like a %s image, a "
                    "format that is read only on request: use -f %s to read "
                    "the disk in it, or -f raw to hash the bytes of this "
                    "file", format, format);
}

static int
inspect_vmdk (const struct imagefile *file, const unsigned char *head,
              struct error *error)
{
  if (!vmdk_is_sparse (head))
    return refuse_format ("vmdk", error);
  if (vmdk_check_alone (file, error) == -1)
    return -1;
  return vmdk_check (file, error);
}

/* Check an image whose content looks like FORMAT. */
static int
inspect_probed (const struct imagefile *file, const char *format,
                const unsigned char *head, struct error *error)
{
  if (strcmp (format, "raw") == 0)
    return 0;
  if (strcmp (format, "qcow2") == 0)
    return inspect_qcow2 (file, error);
  if (strcmp (format, "vmdk") == 0)
    return inspect_vmdk (file, head, error);
  if (strcmp (format, "vdi") == 0)
    return vdi_check (file, error);
  if (strcmp (format, "vhdx") == 0)
    return vhdx_check (file, error);
  if (strcmp (format, "vpc") == 0 && vpc_check (file, error) == -1)
    return -1;
  if (strcmp (format, "luks2") == 0)
    return error_set (error, "refused because it is a LUKS2 container, which "
                      "qemu cannot open: use -f raw to hash the encrypted "
                      "bytes, or open it with cryptsetup and hash "
                      "/dev/mapper/NAME");
  if (strcmp (format, "luks") == 0)
    return error_set (error, "refused because it is a LUKS container: use "
                      "-f raw to hash the encrypted bytes, or --object with "
                      "--image-opts to hash what is in it");
  return refuse_format (format, error);
}

static int
set_format (struct image *image, const char *format, bool probed,
            struct error *error)
{
  int n = snprintf (image->format, sizeof image->format, "%s", format);

  image->probed = probed;
  if (n == 0 || n >= sizeof image->format)
    return error_set (error, "unknown format '%s'", format);
  return 0;
}

/* What the content of the file looks like, and its first bytes to HEAD; NULL
 * on error.
 */
static const char *
probe (const struct imagefile *file, unsigned char head[PROBE_SIZE],
       struct error *error)
{
  size_t len = MIN (file->size, PROBE_SIZE);
  unsigned char end[PROBE_SIZE];
  const char *format;

  if (imagefile_read (file, "the first bytes", head, len, 0, error) == -1)
    return NULL;
  format = probe_format (head, len);
  if (strcmp (format, "raw") != 0)
    return format;
  if (imagefile_read (file, "the last bytes", end, len, file->size - len,
                      error) == -1)
    return NULL;
  return probe_end (end, len);
}

int
image_inspect (struct file *file, const char *format, struct files *files,
               struct image *image, struct error *error)
{
  const struct imagefile all = imagefile_of (file);
  const struct layer_context context = { .files = files };
  unsigned char head[PROBE_SIZE];

  if (format) {
    if (set_format (image, format, false, error) == -1)
      return -1;
    if (strcmp (format, "raw") == 0)
      return 0;
    file->by_path = true;
    return layers_check (file, format, &context, error);
  }
  format = probe (&all, head, error);
  if (!format || set_format (image, format, true, error) == -1)
    return -1;
  return inspect_probed (&all, format, head, error);
}

int
image_inspect_opts (const char *opts, struct files *files,
                    struct image *image, struct error *error)
{
  const struct layer_context context = { .secrets = true, .files = files };
  char *driver;
  int r;

  if (nodes_check (opts, &context, error) == -1)
    return -1;
  driver = qemuopts_get (opts, "driver");
  r = set_format (image, driver ? driver : "", false, error);
  free (driver);
  return r;
}

char *
image_qemu_opts (const struct image *image, const char *path,
                 bool is_block_device, bool force_share)
{
  if (image->probed)
    return qemuopts_json (image->format, path, is_block_device, force_share);
  return qemuopts_string (image->format, path, is_block_device, force_share);
}

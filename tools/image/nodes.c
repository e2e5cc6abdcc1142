/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The block nodes of qemu that are given by the options of an image.
 *
 * A node has children: "file" is the node below it, "backing" its backing node,
 * and "data-file" the data file of a qcow2.  An unknown driver could have other
 * children, so it is refused.
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "format/imagefile.h"
#include "image/chain-check.h"
#include "image/layer-check.h"
#include "image/layer.h"
#include "image/nodes.h"
#include "image/qemuname.h"
#include "image/qemuopts.h"
#include "image/storage.h"

static int check_node (const struct node_check *check, const struct node *node,
                       bool is_file, bool is_top);

/* Check the size of raw (flat) data, which must be a whole number of sectors.
 * Otherwise qemu adds zeros to fill the last sector, and LUKS would decrypt
 * these to noise.
 */
static int
check_length (const struct node_check *check, const struct storage *storage)
{
  const struct imagefile *file = &storage->file;

  /* The size of a node that is not a local file is always in whole sectors. */
  if (storage->kind != LOCAL && storage->len == UINT64_MAX &&
      storage->start % 512 != 0)
    return error_set (check->error, "refused because the part after an offset "
                      "of %" PRIu64 " bytes would end within a sector",
                      storage->start);
  if (storage->kind != LOCAL)
    return 0;
  if (storage->len != UINT64_MAX && storage->len > file->size)
    return imagefile_error (file, check->error, "the options set a size of %"
                            PRIu64 " bytes, but the file ends after %"
                            PRIu64, storage->len, file->size);
  if (file->size % 512 != 0 &&
      (storage->start > 0 || storage->len != UINT64_MAX))
    return imagefile_error (file, check->error, "the size of the part to "
                            "hash, %" PRIu64 " bytes, is not a multiple of "
                            "512, which qemu would round up: give these bytes "
                            "through a pipe", file->size);
  if (file->size % 512 != 0)
    return imagefile_error (file, check->error, "its size, %" PRIu64 " bytes, "
                            "is not a multiple of 512, which qemu would "
                            "round up: give the file itself, with -f raw",
                            file->size);
  return 0;
}

/* Refuse references to other nodes ("file=NODE"), and options of children that
 * are not checked, because these would bypass the checks.
 */
static int
refuse_references (const struct node_check *check, const struct node *node)
{
  static const char *const children[] = {
    "file", "backing", "data-file", "header", "extents"
  };

  for (size_t i = 0; i < sizeof children / sizeof children[0]; i++) {
    const char *value = node_get (node, children[i]);

    if ((value && *value) || (i >= 3 && node_has (node, children[i])))
      return error_set (check->error, "refused because the node that '%s%s' "
                        "refers to cannot be checked", node->prefix,
                        children[i]);
  }
  return 0;
}

/* Set the data file of LAYER, if the options of NODE name one. */
static int
set_data (const struct node_check *check, const struct node *node,
          struct layer *layer)
{
  struct storage data = STORAGE_NONE;
  struct node child;
  int r = -1;

  if (!node_has (node, "data-file"))
    return 0;
  node_set_child (node, "data-file", &child);
  if (storage_find (&data, check, &child, true) == 0) {
    if (data.kind == FORMAT)
      r = error_set (check->error, "refused because a data file inside of a "
                     "%s image cannot be checked", data.driver);
    else if (data.kind == REMOTE)
      r = error_set (check->error, "refused because the data file is "
                     QEMUNAME_ON_SERVER);
    else {
      layer->data_given = true;
      layer->data = data.file;
      r = 0;
    }
  }
  storage_destroy (&data);
  return r;
}

/* Set LAYER to FORMAT in FILE, a local file.  LAYER takes ownership of the path
 * of FILE.
 */
static int
set_layer (const struct node_check *check, const struct storage *format,
           struct storage *file, struct layer *layer)
{
  layer->format = strdup (format->driver);
  layer->path = file->path;
  layer->options = json_object_get (format->node.options);
  layer->backing_given = node_has (&format->node, "backing");
  layer->file = file->file;
  file->path = NULL;
  if (!layer->format)
    return error_set (check->error, "out of memory");
  return set_data (check, &format->node, layer);
}

/* Is the value of the option NAME null?  The option must be given. */
static bool
is_null (const struct node *node, const char *name)
{
  return !json_object_object_get (node->options, name);
}

/* Does the option "backing" have "file.filename", so that qemu does not use the
 * name in the header?
 */
static bool
replaces_name (const struct node *node)
{
  struct node backing, file;

  node_set_child (node, "backing", &backing);
  if (!node_has (&backing, "file"))
    return false;
  node_set_child (&backing, "file", &file);
  return node_get (&file, "filename") != NULL;
}

/* If the options of the backing layer have no file name, qemu adds the name in
 * the header to them.  That name can be "json:" with further options, so that
 * qemu would open nodes that were not checked.  Only the header of a qcow2 was
 * read, so an image in another format is assumed to have such a name.
 */
static int
refuse_mixed_backing (const struct node_check *check, const struct node *node,
                      const struct layer *layer)
{
  if (!layer_has_backing (layer->format) || replaces_name (node) ||
      (strcmp (layer->format, "qcow2") == 0 && !*layer->qcow2.backing))
    return 0;
  return error_set (check->error, "refused because qemu would add the backing "
                    "file that the header names to the options '%sbacking', "
                    "which have no file.filename: remove it with 'qemu-img "
                    "rebase -u -b \"\" IMAGE'", node->prefix);
}

/* Check a layer and its backing chain. */
static int
check_chain (const struct node_check *check, const struct node *node,
             struct layer *layer)
{
  struct node child;
  int r = chain_check (layer, check->context, check->error);

  if (r == 0 && !qemuopts_set_vpc_size (node->options, layer))
    return error_set (check->error, "out of memory");
  if (r == -1 || !layer->backing_given || is_null (node, "backing"))
    return r;
  node_set_child (node, "backing", &child);
  r = check_node (check, &child, false, false);
  return r == 0 ? refuse_mixed_backing (check, node, layer) : r;
}

/* IS_DISK is true if the disk in the format is what is hashed, and not a layer
 * or a part of it.
 */
static int
check_format (const struct node_check *check, const struct storage *format,
              bool is_disk)
{
  struct storage file = STORAGE_NONE;
  struct layer layer = LAYER_NONE;
  struct node child;
  int r = -1;

  if (refuse_references (check, &format->node) == -1)
    return -1;
  node_set_child (&format->node, "file", &child);
  if (storage_find (&file, check, &child, true) == 0) {
    if (file.kind == REMOTE)
      r = error_set (check->error, "refused because it is a %s image "
                     QEMUNAME_ON_SERVER, format->driver);
    else if (strcmp (format->driver, "luks") == 0)
      r = check_node (check, &child, true, true); /* see check_length */
    else if (file.kind == FORMAT)
      r = error_set (check->error, "refused because a %s image inside of a %s "
                     "image cannot be checked", format->driver, file.driver);
    else if (set_layer (check, format, &file, &layer) == 0)
      r = check_chain (check, &format->node, &layer);
  }
  if (r == 0 && is_disk)
    *check->size = layer.size;
  else if (r == 0)
    r = layer_check_below (&layer, check->error);
  storage_destroy (&file);
  layer_destroy (&layer);
  return r;
}

static int
check_node (const struct node_check *check, const struct node *node,
            bool is_file, bool is_top)
{
  struct storage storage = STORAGE_NONE;
  int r = storage_find (&storage, check, node, is_file);

  if (r == 0 && is_top)
    r = check_length (check, &storage);
  if (r == 0 && storage.kind == FORMAT)
    r = check_format (check, &storage, is_top && !is_file &&
                      storage.start == 0 && storage.len == UINT64_MAX);
  storage_destroy (&storage);
  return r;
}

int
nodes_check (struct json_object *options,
             const struct layer_context *context, uint64_t *size,
             struct error *error)
{
  const struct node_check check = {
    .context = context, .size = size, .error = error
  };
  const struct node top = { .options = options };

  *size = 0;
  return check_node (&check, &top, false, true);
}

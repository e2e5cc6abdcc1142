/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the storage of a node that the image options describe: the node itself,
 * or the first node below it that is not raw.
 *
 * qemu probes a node that has no "driver", so such a node is refused.  The
 * nodes "file" and "data-file" of a format are exceptions: qemu opens their
 * "filename" as a regular file or device, whatever the name looks like.
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "../lib/common/numbers.h"
#include "format/imagefile.h"
#include "image/layer.h"
#include "image/qemuname.h"
#include "image/storage.h"
#include "io/files.h"

/* ---- Options ----------------------------------------------------------- */

const char *
node_get (const struct node *node, const char *name)
{
  struct json_object *value = json_object_object_get (node->options, name);

  return json_object_is_type (value, json_type_string)
    ? json_object_get_string (value) : NULL;
}

bool
node_has (const struct node *node, const char *name)
{
  return json_object_object_get_ex (node->options, name, NULL);
}

void
node_set_child (const struct node *node, const char *name, struct node *child)
{
  struct json_object *options = json_object_object_get (node->options, name);
  size_t len = strlen (node->prefix);

  child->options = json_object_is_type (options, json_type_object) ? options
    : NULL;
  memmove (child->prefix, node->prefix, len);
  snprintf (child->prefix + len, sizeof child->prefix - len, "%s.", name);
}

/* Parse an option that is a number of bytes.  If the option is not given, *SIZE
 * is unchanged.
 */
static int
get_size (const struct node_check *check, const struct node *node,
          const char *name, uint64_t *size)
{
  static const char units[] = "bkmgtpe";
  const char *value = node_get (node, name), *unit = NULL;
  char *end;

  if (!value)
    return 0;
  if (*value >= '0' && *value <= '9') {
    *size = strtoull (value, &end, 10);
    if (!*end)
      unit = units;
    else if (!end[1])
      unit = strchr (units, *end | 0x20);
  }
  if (!unit || *size > (uint64_t) INT64_MAX >> (10 * (unit - units)))
    return error_set (check->error, "refused because '%s%s=%s' is not a size "
                      "that blksum understands", node->prefix, name, value);
  *size <<= 10 * (unit - units);
  return 0;
}

/* ---- Storage ------------------------------------------------------------ */

static int
open_local (const struct node_check *check, struct storage *storage)
{
  const char *path = node_get (&storage->node, "filename");
  struct imagefile *file = &storage->file;

  storage->kind = LOCAL;
  if (!path)
    return error_set (check->error, "refused because the options do not set "
                      "%sfilename=FILE", storage->node.prefix);
  storage->path = strdup (path);
  if (!storage->path)
    return error_set (check->error, "out of memory");
  if (layer_open_file (file, "the file", storage->path, check->context,
                       check->error) == -1)
    return -1;
  if (storage->start > file->size)
    return imagefile_error (file, check->error, "the options set an offset of "
                            "%" PRIu64 " bytes, but the file has %" PRIu64
                            " bytes", storage->start, file->size);
  file->start = storage->start;
  file->size = MIN (storage->len, file->size - storage->start);
  return 0;
}

/* Replace a raw node with the node below it, its "file".  storage->start is
 * converted from an offset in the raw node to one in the node below.
 */
static int
apply_raw (const struct node_check *check, struct storage *storage)
{
  uint64_t offset = 0, size = UINT64_MAX;

  if (get_size (check, &storage->node, "offset", &offset) == -1 ||
      get_size (check, &storage->node, "size", &size) == -1)
    return -1;
  if (storage->start > MIN (size, INT64_MAX - offset))
    return error_set (check->error, "refused because an offset in the options "
                      "passes the end of the 'file' of its node");
  if (size != UINT64_MAX)
    storage->len = MIN (storage->len, size - storage->start);
  storage->start += offset;
  node_set_child (&storage->node, "file", &storage->node);
  return 0;
}

int
storage_find (struct storage *storage, const struct node_check *check,
              const struct node *node, bool is_file)
{
  storage->node = *node;
  for (;; is_file = true) {
    storage->driver = node_get (&storage->node, "driver");
    if (!storage->driver && !is_file)
      return error_set (check->error, "refused because the options do not set "
                        "%sdriver=FORMAT, so that qemu would probe the "
                        "format", storage->node.prefix);
    if (!storage->driver || qemuname_is_local (storage->driver))
      return open_local (check, storage);
    if (strcmp (storage->driver, "raw") != 0)
      break;
    if (apply_raw (check, storage) == -1)
      return -1;
  }
  if (layer_is_format (storage->driver))
    storage->kind = FORMAT;
  else if (qemuname_is_protocol (storage->driver)) {
    storage->kind = REMOTE;
    check->context->files->remote = true;
  }
  else
    return error_set (check->error, "refused because '%sdriver=%s' is not a "
                      "driver that blksum can check", storage->node.prefix,
                      storage->driver);
  return 0;
}

void
storage_destroy (struct storage *storage)
{
  free (storage->path);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a node of an option string of qemu is stored in.
 *
 * Where "driver" is missing qemu probes, so that is refused, but for what a
 * format is stored in: there it takes "filename" for that of a plain file or
 * device, whatever it looks like.
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/imagefile.h"
#include "image/layer.h"
#include "image/qemuname.h"
#include "image/qemuopts.h"
#include "image/storage.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* ---- Options ----------------------------------------------------------- */

char *
nodes_get (const struct nodes *nodes, const struct prefix *prefix,
           const char *name)
{
  char key[MAX_PREFIX + 32];

  snprintf (key, sizeof key, "%s%s", prefix->text, name);
  return qemuopts_get (nodes->opts, key);
}

bool
nodes_have (const struct nodes *nodes, const struct prefix *prefix,
            const char *name)
{
  char key[MAX_PREFIX + 32];

  snprintf (key, sizeof key, "%s%s", prefix->text, name);
  return qemuopts_has (nodes->opts, key);
}

int
nodes_set_child (const struct nodes *nodes, const struct prefix *prefix,
                 const char *child, struct prefix *out)
{
  struct prefix copy = *prefix;
  size_t n = snprintf (out->text, sizeof out->text, "%s%s.", copy.text, child);

  if (n >= sizeof out->text)
    return error_set (nodes->error, "refused because the options describe "
                      "too many nodes inside each other");
  return 0;
}

/* Read an option that is a number of bytes, which stays as it is if it is not
 * given.
 */
static int
get_size (const struct nodes *nodes, const struct prefix *prefix,
          const char *name, uint64_t *size)
{
  static const char units[] = "bkmgtpe";
  char *value = nodes_get (nodes, prefix, name), *end;
  const char *unit = NULL;
  int r = 0;

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
    r = error_set (nodes->error, "refused because '%s%s=%s' is not a size "
                   "that blksum understands", prefix->text, name, value);
  else
    *size <<= 10 * (unit - units);
  free (value);
  return r;
}

/* ---- Storage ------------------------------------------------------------ */

static int
open_local (const struct nodes *nodes, struct storage *storage)
{
  struct imagefile *file = &storage->file;

  storage->kind = LOCAL;
  storage->path = nodes_get (nodes, &storage->prefix, "filename");
  if (!storage->path)
    return error_set (nodes->error, "refused because the options do not say "
                      "%sfilename=FILE", storage->prefix.text);
  if (layer_open_file (file, "the file", storage->path, nodes->context,
                       nodes->error) == -1)
    return -1;
  if (storage->start > file->size)
    return imagefile_error (file, nodes->error, "the image is said to start "
                            "at offset %" PRIu64 ", but the file has %" PRIu64
                            " bytes", storage->start, file->size);
  file->start = storage->start;
  file->size = MIN (storage->len, file->size - storage->start);
  return 0;
}

/* Look through a raw node.  What is seen of it becomes what is seen of its
 * file, which is the next node.
 */
static int
pass_raw (const struct nodes *nodes, struct storage *storage)
{
  uint64_t offset = 0, size = UINT64_MAX;

  if (get_size (nodes, &storage->prefix, "offset", &offset) == -1 ||
      get_size (nodes, &storage->prefix, "size", &size) == -1)
    return -1;
  if (storage->start > MIN (size, INT64_MAX - offset))
    return error_set (nodes->error, "refused because an offset in the options "
                      "passes the end of what it is in");
  if (size != UINT64_MAX)
    storage->len = MIN (storage->len, size - storage->start);
  storage->start += offset;
  free (storage->driver);
  storage->driver = NULL;
  return nodes_set_child (nodes, &storage->prefix, "file", &storage->prefix);
}

int
storage_find (struct storage *storage, const struct nodes *nodes,
              const struct prefix *prefix, bool is_file)
{
  storage->prefix = *prefix;
  for (;; is_file = true) {
    storage->driver = nodes_get (nodes, &storage->prefix, "driver");
    if (!storage->driver && !is_file)
      return error_set (nodes->error, "refused because the options do not say "
                        "%sdriver=FORMAT, so that qemu would choose the "
                        "format by the content", storage->prefix.text);
    if (!storage->driver || qemuname_is_local (storage->driver))
      return open_local (nodes, storage);
    if (strcmp (storage->driver, "raw") != 0)
      break;
    if (pass_raw (nodes, storage) == -1)
      return -1;
  }
  if (layer_is_format (storage->driver))
    storage->kind = FORMAT;
  else if (qemuname_is_protocol (storage->driver))
    storage->kind = REMOTE;
  else
    return error_set (nodes->error, "refused because '%sdriver=%s' is not a "
                      "driver that blksum can check", storage->prefix.text,
                      storage->driver);
  return 0;
}

void
storage_destroy (struct storage *storage)
{
  free (storage->driver);
  free (storage->path);
}

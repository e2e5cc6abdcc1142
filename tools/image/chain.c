/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image whose tables we read, and the files behind it.
 *
 * All of them were checked already, as far as it goes for any format.  What is
 * looked at again here is what we read ourselves: that it is the same file, and
 * that its tables are complete, which were read through the page cache before;
 * of a device that others write it can be old.
 */

#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/qcow2-map.h"
#include "format/vhdx-map.h"
#include "image/chain.h"
#include "image/qemuname.h"
#include "util/error.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* Take FILE, at PATH, which is the layer's from here on, as the next layer. */
static struct chain_layer *
add_layer (struct chain *chain, const struct file *file, char *path)
{
  struct chain_layer *layer = &chain->layers[chain->count++];

  layer->path = path;
  layer->file = *file;
  layer->pages.bytes = NULL;
  file_access_open (&layer->access, file, 0, chain->cache);
  layer->sparse = !file_is_block_device (file) &&
    file->st.st_blocks < file->size / 512;
  layer->image = (struct imagefile) {
    .fd = layer->access.fd,
    .direct = layer->access.direct,
    .size = file->size,
    .name = chain->count > 1 ? path : NULL,
  };
  return layer;
}

/* 1, 0 or -1. */
static int
inspect_qcow2 (struct chain *chain, struct chain_layer *layer,
               struct error *error)
{
  struct qcow2_count count;

  layer->format = CHAIN_QCOW2;
  if (qcow2_read_header (&layer->image, &layer->qcow2, error) == -1)
    return -1;
  if (!qcow2_map_fits (&layer->qcow2))
    return 0;
  if (qcow2_check_and_count (&layer->image, &layer->image, &layer->qcow2,
                             &count, error) == -1)
    return -1;
  chain->clusters.plain += count.plain;
  chain->clusters.compressed += count.compressed;
  layer->size = layer->qcow2.size;
  return 1;
}

/* 1, 0 or -1. */
static int
inspect_vhdx (struct chain_layer *layer, struct error *error)
{
  layer->format = CHAIN_VHDX;
  if (vhdx_read_and_check (&layer->image, &layer->vhdx, error) == -1)
    return -1;
  layer->size = layer->vhdx.size;
  return layer->size > 0;
}

/* Check a layer, and get ready to read it.  1, 0 or -1. */
static int
inspect_layer (struct chain *chain, struct chain_layer *layer,
               const char *format, struct error *error)
{
  int r = 0;

  if (strcmp (format, "raw") == 0) {
    layer->format = CHAIN_RAW;
    layer->size = layer->file.size;
    return 1;
  }
  if (strcmp (format, "qcow2") == 0)
    r = inspect_qcow2 (chain, layer, error);
  else if (strcmp (format, "vhdx") == 0)
    r = inspect_vhdx (layer, error);
  if (r == 1 && pages_init (&layer->pages, &layer->image, error) == -1)
    return -1;
  return r;
}

/* What the layer says is behind it; "" if nothing is. */
static const char *
backing_of (const struct chain_layer *layer)
{
  return layer->format == CHAIN_QCOW2 ? layer->qcow2.backing : "";
}

/* Open the file at PATH, which is taken.  1, or 0 if it is not one of those
 * that were checked.
 */
static int
open_behind (struct chain *chain, char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct error error = { "" };
  struct file file;

  if (fd != -1 && file_init (&file, fd, path, &error) == 0 &&
      fileset_has (chain->files, fd)) {
    if (!chain->cache)
      file_read_first (fd);
    add_layer (chain, &file, path);
    return 1;
  }
  if (fd != -1)
    close (fd);
  free (path);
  return 0;
}

/* Go to the file behind LAYER.  1, or 0 if it is not for us, or -1. */
static int
step (struct chain *chain, const struct chain_layer *layer,
      struct error *error)
{
  char *name = qemuname_resolve (layer->path, backing_of (layer));
  const char *path;
  int r;

  if (!name)
    return error_set (error, "out of memory");
  r = qemuname_locate (&layer->image, name, &path, error);
  if (r == 1) {
    memmove (name, path, strlen (path) + 1);
    return open_behind (chain, name);
  }
  free (name);
  return r;
}

int
chain_open (struct chain *chain, const struct file *file, const char *path,
            const char *format, struct error *error)
{
  char *copy = strdup (path);
  int r = 1;

  if (!copy)
    return error_set (error, "out of memory");
  add_layer (chain, file, copy);
  for (;;) {
    struct chain_layer *layer = &chain->layers[chain->count - 1];

    r = inspect_layer (chain, layer, format, error);
    if (r != 1 || !*backing_of (layer))
      break;
    if (!chain->files || chain->count == CHAIN_MAX) {
      r = 0;
      break;
    }
    r = step (chain, layer, error);
    if (r != 1)
      break;
    format = layer->qcow2.backing_format;
  }
  chain->size = chain->layers[0].size;
  return r;
}

void
chain_close (struct chain *chain)
{
  for (unsigned i = 0; i < chain->count; i++) {
    struct chain_layer *layer = &chain->layers[i];

    pages_destroy (&layer->pages);
    file_access_close (&layer->access);
    if (i > 0)
      close (layer->file.fd);
    free (layer->path);
  }
}

bool
chain_can_direct (const struct chain *chain)
{
  unsigned i = 0;

  while (i < chain->count &&
         file_access_can_direct (&chain->layers[i].access,
                                 &chain->layers[i].file))
    i++;
  return i == chain->count;
}

/* What is at OFFSET of the disk in LAYER alone? */
static int
layer_at (struct chain_layer *layer, uint64_t offset, struct run *run,
          struct error *error)
{
  if (offset >= layer->size) {
    run->kind = RUN_ZEROS;
    run->len = UINT64_MAX - offset;
    return 0;
  }
  if (layer->format == CHAIN_QCOW2)
    return qcow2_map_at (&layer->pages, &layer->qcow2, offset, run, error);
  if (layer->format == CHAIN_VHDX)
    return vhdx_map_at (&layer->pages, &layer->vhdx, offset, run, error);
  run->kind = RUN_DATA;
  run->len = layer->size - offset;
  run->host = offset;
  return 0;
}

int
chain_at (struct chain *chain, uint64_t offset, struct run *run,
          const struct chain_layer **layer, struct error *error)
{
  uint64_t len = chain->size - offset;

  for (unsigned i = 0; i < chain->count; i++) {
    *layer = &chain->layers[i];
    if (layer_at (&chain->layers[i], offset, run, error) == -1)
      return -1;
    len = run->len = MIN (run->len, len);
    if (run->kind != RUN_UNALLOCATED)
      return 0;
  }
  run->kind = RUN_ZEROS;  /* in no layer */
  return 0;
}

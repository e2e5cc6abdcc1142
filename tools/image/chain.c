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

#include <stdlib.h>
#include <string.h>

#include "format/qcow2-map.h"
#include "format/vhdx-map.h"
#include "image/chain.h"
#include "image/qemuname.h"
#include "io/files.h"
#include "util/error.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* Take FILE as the next layer. */
static struct chain_layer *
add_layer (struct chain *chain, const struct file *file)
{
  struct chain_layer *layer = &chain->layers[chain->count++];

  layer->pages.bytes = NULL;
  layer->image = imagefile_of (file);
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
    layer->size = layer->image.size;
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

/* Go to the file behind LAYER.  1, or 0 if it is not for us, or -1. */
static int
step (struct chain *chain, const struct chain_layer *layer,
      struct error *error)
{
  char *name = qemuname_resolve (layer->image.file->path, backing_of (layer));
  const struct file *file;
  const char *path;
  int r;

  if (!name)
    return error_set (error, "out of memory");
  r = qemuname_locate (imagefile_name (&layer->image), name, &path, error);
  if (r == 1) {
    file = files_open (chain->files, "the backing file", path, error);
    if (file)
      add_layer (chain, file);
    else
      r = -1;
  }
  free (name);
  return r;
}

int
chain_open (struct chain *chain, const struct file *file, const char *format,
            struct error *error)
{
  int r = 1;

  add_layer (chain, file);
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
  for (unsigned i = 0; i < chain->count; i++)
    pages_destroy (&chain->layers[i].pages);
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
          const struct file **file, struct error *error)
{
  uint64_t len = chain->size - offset;

  for (unsigned i = 0; i < chain->count; i++) {
    *file = chain->layers[i].image.file;
    if (layer_at (&chain->layers[i], offset, run, error) == -1)
      return -1;
    len = run->len = MIN (run->len, len);
    if (run->kind != RUN_UNALLOCATED)
      return 0;
  }
  run->kind = RUN_ZEROS;  /* in no layer */
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/qcow2.h"
#include "image/layer.h"
#include "io/file.h"
#include "util/error.h"
#include "util/extent.h"

int
layer_init (struct layer *layer, const struct file *file, const char *format,
            struct error *error)
{
  layer->path = strdup (file->path);
  layer->format = strdup (format);
  layer->file = imagefile_of (file);
  return layer->path && layer->format ? 0 : error_set (error, "out of memory");
}

void
layer_destroy (struct layer *layer)
{
  struct layer *backing;

  for (;;) {
    free (layer->path);
    free (layer->format);
    backing = layer->backing;
    if (!backing)
      break;
    *layer = *backing;
    free (backing);
  }
}

/* ---- The chain ---- */

/* The layers were opened, parsed and checked before.  Their tables are read
 * again, page by page, while the disk is read, because they can be larger than
 * memory.
 */
enum answer
chain_open (struct chain *chain, const struct layer *top, struct error *error)
{
  for (const struct layer *layer = top; layer; layer = layer->backing) {
    if (layer->map == LAYER_QEMU || chain->count == CHAIN_MAX)
      return ANSWER_NO;
    if (layer->map != LAYER_RAW &&
        pages_init (&chain->pages[chain->count], &layer->file, error) == -1)
      return ANSWER_FAILED;
    chain->layers[chain->count++] = layer;
    chain->clusters.plain += layer->clusters.plain;
    chain->clusters.compressed += layer->clusters.compressed;
  }
  chain->size = top->size;
  return ANSWER_YES;
}

void
chain_close (struct chain *chain)
{
  for (unsigned i = 0; i < chain->count; i++)
    pages_destroy (&chain->pages[i]);
}

/* Set RUN to the run that starts at OFFSET in LAYER alone, without its backing
 * chain.  An offset after the end of the layer gives a run of zeros.
 */
static int
layer_at (const struct layer *layer, struct pages *pages, uint64_t offset,
          struct run *run, struct error *error)
{
  uint64_t size = layer->size;

  if (offset >= size) {
    run->kind = RUN_ZEROS;
    run->len = UINT64_MAX - offset;
    return 0;
  }
  if (layer->map == LAYER_QCOW2)
    return qcow2_find_run (pages, &layer->qcow2, offset, run, error);
  if (layer->map == LAYER_VHDX)
    return vhdx_find_run (pages, &layer->vhdx, offset, run, error);
  run->kind = RUN_DATA;
  run->len = size - offset;
  run->host = offset;
  return 0;
}

static void
set_extent (const struct layer *layer, const struct run *run, uint64_t len,
            struct extent *extent)
{
  *extent = (struct extent) { .len = len };
  if (run->kind == RUN_DATA) {
    extent->place[0].kind = PLACE_FILE;
    extent->place[0].file = layer->file.file;
    extent->place[0].host = run->host;
  }
  else if (run->kind != RUN_QEMU) {
    extent->zero = true;
    extent->place[0].kind = PLACE_ZEROS;
  }
}

/* What no layer has allocated is zero. */
int
chain_find_extent (struct chain *chain, uint64_t offset, struct extent *extent,
                   struct error *error)
{
  struct run run = { .kind = RUN_UNALLOCATED };
  uint64_t len = chain->size - offset;
  unsigned i;

  for (i = 0; i < chain->count; i++) {
    if (layer_at (chain->layers[i], &chain->pages[i], offset, &run,
                  error) == -1)
      return -1;
    len = MIN (run.len, len);
    if (run.kind != RUN_UNALLOCATED)
      break;
  }
  set_extent (chain->layers[i < chain->count ? i : 0], &run, len, extent);
  return 0;
}

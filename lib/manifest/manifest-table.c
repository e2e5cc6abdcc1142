/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Save a leaf table to a manifest, and load a leaf table from a manifest.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "blkhash-manifest.h"
#include "construction/opts.h"
#include "leaves/leaves.h"
#include "manifest/manifest-reader.h"

static int
save (struct blkhash_leaves *l, struct blkhash_manifest_writer *w,
      uint64_t size, unsigned char *md, unsigned *len)
{
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);
  int err = leaves_fold_to (l, &sink);

  return err ? err : blkhash_manifest_writer_finish (w, size, md, len);
}

int
blkhash_leaves_save (struct blkhash_leaves *l, int fd, unsigned char *md,
                     unsigned int *len)
{
  struct blkhash_manifest_writer *w;
  struct blkhash_opts opts;
  uint64_t size;
  int err = leaves_describe (l, &opts, &size);

  if (err)
    return err;
  if (size == BLKHASH_SIZE_UNKNOWN)
    return EINVAL;              /* no header can have this size */
  w = blkhash_manifest_writer_new (&opts, size, fd);
  if (!w)
    return errno;
  err = save (l, w, size, md, len);
  blkhash_manifest_writer_free (w);
  return err;
}

int
blkhash_leaves_put_run (struct blkhash_leaves *l,
                        const struct blkhash_manifest_run *run)
{
  static const struct blkhash_manifest_run none;

  if (memcmp (run->reserved, none.reserved, sizeof none.reserved) != 0)
    return EINVAL;
  return leaves_put_unvalidated (l, run->first, run->count, run->leaves,
                                 run->leaf_size);
}

static int
load (struct blkhash_leaves *l, struct blkhash_manifest_reader *r)
{
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    err = leaves_put_leaves (l, run.first, run.count, run.leaves,
                             run.leaf_size);
    if (err)
      return manifest_reader_fail (r, err);
  }
  return err == ENOENT ? 0 : err;
}

struct blkhash_leaves *
blkhash_leaves_load (struct blkhash_manifest_reader *r)
{
  struct blkhash_leaves *l;
  int err;

  if (!manifest_reader_is_fresh (r) || r->flags != 0) {
    errno = manifest_reader_set_error (r, EINVAL, "a reader without flags is "
                                       "needed that has read nothing but the "
                                       "header");
    return NULL;
  }
  l = blkhash_leaves_new (blkhash_manifest_reader_opts (r),
                          blkhash_manifest_reader_size (r), 0);
  if (!l) {
    errno = manifest_reader_fail (r, errno);
    return NULL;
  }
  err = load (l, r);
  if (err == 0)
    return l;
  blkhash_leaves_free (l);
  errno = err;
  return NULL;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest of a part of an image, --part.
 *
 * An existing manifest is kept if it is complete, and is of the same part of an
 * image of the same size.  The data of the image is not read then.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "job/manifest.h"
#include "job/manifest-file.h"
#include "job/overwrite.h"
#include "job/part.h"
#include "leaves/image-table.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"
#include "util/part.h"
#include "util/request.h"
#include "util/result.h"

/* Bytes.  Reads begin and end at multiples of this, or of the block size if
 * that is larger.  No NBD server requires a larger alignment, and neither does
 * direct I/O.
 */
#define READ_UNIT ((uint64_t) 64 * 1024)

struct making {
  const struct hash_request *request;
  struct source *source;
  char *path;                   /* of the manifest */
  uint64_t first, count;        /* blocks in it */
};

/* ---- An existing manifest ---- */

/* True if R is the complete manifest of this part.  It is read whole. */
static bool
is_this_part (const struct making *making, struct blkhash_manifest_reader *r)
{
  struct blkhash_manifest_run run;
  uint64_t first, count;
  int err;

  blkhash_manifest_reader_blocks (r, &first, &count);
  if (first != making->first || count != making->count ||
      blkhash_manifest_reader_size (r) != making->source->size ||
      !blkhash_opts_same_hash (blkhash_manifest_reader_opts (r),
                               making->request->opts))
    return false;
  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  return err == ENOENT;
}

/* 1 if the manifest exists; 0 if it has to be made; or -1 with the reason if
 * the file must not be replaced.
 */
static int
is_there (const struct making *making, struct error *error)
{
  int fd = open (making->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                               O_NOFOLLOW);
  struct blkhash_manifest_reader *r;
  int there;

  if (fd == -1)
    return errno == ENOENT ? 0
      : errno == ELOOP
      ? error_set (error, "%s is not a regular file: it is not replaced by a "
                   "manifest", making->path)
      : error_errno (error, errno, "cannot open %s", making->path);
  there = overwrite_check (fd, making->path, OVERWRITE_CHECK_START,
                           making->source, error);
  if (there == 0) {
    r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
    there = r && is_this_part (making, r);
    blkhash_manifest_reader_free (r);
  }
  close (fd);
  return there;
}

/* ---- Making the manifest ---- */

/* Returns the offset of BLOCK in bytes, or the size of the image, which can end
 * within the last block.
 */
static uint64_t
block_offset (const struct making *making, uint64_t block)
{
  uint64_t size = making->source->size;
  uint32_t block_size = blkhash_opts_get_block_size (making->request->opts);

  return block > size / block_size ? size : block * block_size;
}

/* The range that is read: the part, extended to multiples of READ_UNIT. */
struct extract {
  uint64_t start, end;          /* bytes */
};

static struct extract
find_extract (const struct making *making)
{
  uint64_t size = making->source->size;
  uint64_t start = block_offset (making, making->first);
  uint64_t end = block_offset (making, making->first + making->count);
  uint64_t more = -end & (READ_UNIT - 1);

  if (making->count > 0) {
    start &= ~(READ_UNIT - 1);
    end = more < size - end ? end + more : size;
  }
  return (struct extract) { start, end };
}

static bool
is_in_extract (void *opaque, uint64_t offset, uint64_t *len)
{
  const struct extract *extract = opaque;
  bool before = offset < extract->start, in = !before && offset < extract->end;

  *len = (before ? extract->start : in ? extract->end : UINT64_MAX) - offset;
  return in;
}

static int
write_part (const struct making *making, struct manifest_file *manifest,
            struct error *error)
{
  struct extract extract = find_extract (making);
  struct image_request request = {
    .opts = making->request->opts,
    .wanted = is_in_extract,
    .opaque = &extract,
  };
  struct sum sum;
  int r;

  request.progress = progress_begin (&making->request->progress,
                                     extract.end - extract.start);
  r = manifest_file_hash (manifest, making->source, &request, &sum, error);
  progress_end (request.progress, r == 0);
  return r == 0 ? manifest_file_publish (manifest, error) : -1;
}

static int
make (const struct making *making, struct error *error)
{
  struct manifest_file manifest;
  int r;

  if (manifest_file_open_part (&manifest, making->path, making->request->opts,
                               making->source->size, making->first,
                               making->count, error) == -1)
    return -1;
  r = write_part (making, &manifest, error);
  manifest_file_close (&manifest);
  return r;
}

/* ---- The job ---- */

static int
choose_blocks (struct making *making, const struct part_request *request,
               struct error *error)
{
  const struct source *source = making->source;
  uint32_t block_size = blkhash_opts_get_block_size (making->request->opts);
  uint64_t size = source->size;

  if (source->full_size == SOURCE_SIZE_UNKNOWN)
    return error_set (error, "a pipe can only be read as a whole, not with "
                      "--part");
  part_blocks (&request->part, size, block_size, &making->first,
               &making->count);
  making->path = part_path (&request->part, request->dir);
  return making->path ? 0 : error_errno (error, ENOMEM, "cannot hash");
}

int
job_part (const struct part_request *request, struct error *error)
{
  const struct hash_request *hash = &request->hash;
  struct making making = { .request = hash };
  int r;

  if (job_manifest_path (hash->operand))
    return error_set (error, "--part is for images, and this is a manifest");
  if (source_open (&hash->source, hash->operand, &making.source, error) == -1)
    return -1;
  r = choose_blocks (&making, request, error);
  if (r == 0)
    r = is_there (&making, error);
  if (r == 0)
    r = make (&making, error);
  free (making.path);
  source_close (making.source);
  return r == -1 ? -1 : 0;
}

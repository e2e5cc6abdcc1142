/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One of many parts, open.
 */

#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "job/part-reader.h"
#include "job/parts.h"
#include "util/error.h"

void
part_reader_init (struct part_reader *r, const struct parts *parts,
                  size_t leaf_size)
{
  *r = (struct part_reader) { .parts = parts, .leaf_size = leaf_size };
}

void
part_reader_destroy (struct part_reader *r)
{
  if (!r->file)
    return;
  blkhash_manifest_reader_free (r->reader);
  close (r->fd);
  r->file = NULL;
}

static int
open_file (struct part_reader *r, const struct part_file *file,
           struct error *error)
{
  part_reader_destroy (r);
  r->fd = parts_open_again (r->parts, file, &r->reader, error);
  if (r->fd == -1)
    return -1;
  r->file = file;
  r->run = (struct blkhash_manifest_run) { .first = file->first };
  return 0;
}

int
part_reader_seek (struct part_reader *r, const struct part_file *file,
                  uint64_t block, struct error *error)
{
  struct blkhash_manifest_run run = { .count = 0 };
  int found = 1;

  if ((r->file != file || r->run.first > block) &&
      open_file (r, file, error) == -1)
    return -1;
  while (found == 1 && r->run.first < block) {
    found = part_reader_peek (r, block, &run, error);
    if (found == 1)
      part_reader_take (r, run.count);
  }
  return found == -1 ? -1 : 0;
}

int
part_reader_peek (struct part_reader *r, uint64_t end,
                  struct blkhash_manifest_run *run, struct error *error)
{
  if (r->run.first >= end)
    return 0;
  if (r->run.count == 0 &&
      blkhash_manifest_reader_next (r->reader, &r->run) != 0)
    return error_set (error, "%s", blkhash_manifest_reader_error (r->reader));
  *run = r->run;
  if (run->count > end - run->first)
    run->count = end - run->first;
  return 1;
}

void
part_reader_take (struct part_reader *r, uint64_t count)
{
  r->run.first += count;
  r->run.count -= count;
  if (r->run.leaves)
    r->run.leaves += count * r->leaf_size;
}

int
part_reader_finish (struct part_reader *r, unsigned char *md, unsigned *len,
                    struct error *error)
{
  int err;

  do
    err = blkhash_manifest_reader_next (r->reader, &r->run);
  while (err == 0);
  if (err != ENOENT)
    return error_set (error, "%s", blkhash_manifest_reader_error (r->reader));
  r->run.first = r->file->end;
  r->run.count = 0;
  if (blkhash_manifest_reader_sum (r->reader, md, len) != 0)
    *len = 0;
  return 0;
}

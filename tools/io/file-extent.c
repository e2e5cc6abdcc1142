/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A lookup can take as long as a read, and cannot begin before the lookup of
 * the previous extent has ended.  So the last extent is cached.  A file that is
 * scanned from start to end takes one lookup for each extent, and one more if
 * it begins with a hole.  The end of data is looked up first, because most
 * offsets are in data, of which this is all that has to be known.  Where data
 * ends there is a hole, so only its end is looked up.
 */

#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "io/file-extent.h"
#include "io/file.h"
#include "util/error.h"

/* The last 512 MiB below 2^63, the maximum size of a file, are read as data.
 * On a tmpfs, Linux treats the end of a folio that ends at 2^63 as a negative
 * offset, and reports no data.  No folio is larger than 512 MiB.
 */
#define SEEK_END_OFFSET ((uint64_t) INT64_MAX + 1 - (UINT64_C (1) << 29))

#ifdef SEEK_HOLE

/* Find the end of the data at EXTENT->start.  Returns false if there is a hole
 * instead, or if the end is unknown.
 *
 * On a tmpfs this lookup visits each page, which takes 20 ms for a GiB, before
 * the first read.  If all blocks of a file on a tmpfs are allocated, the lookup
 * is omitted, because it could find only preallocated zeros.
 */
static bool
find_end_of_data (struct file_extent *extent)
{
  const struct file *file = extent->file;
  off_t hole;

  if (!file_is_sparse (file) && file_is_tmpfs (file))
    return false;
  hole = lseek (file->data.fd, extent->start, SEEK_HOLE);
  if (hole == -1 || hole <= extent->start)
    return false;
  extent->end = hole;
  extent->hole_follows = true;
  return true;
}

/* Find out if there is a hole at EXTENT->start, and where it ends.  Returns 0,
 * or -1 with ERROR if the file became shorter.
 */
static int
find_end_of_hole (struct file_extent *extent, struct error *error)
{
  const struct file *file = extent->file;
  uint64_t at = extent->start;
  off_t data = lseek (file->data.fd, at, SEEK_DATA);

  if (data == -1 && errno == ENXIO &&
      lseek (file->data.fd, 0, SEEK_END) < file->size)
    return error_set (error, "the file was truncated while it was read");
  if (data == -1) {
    extent->hole = errno == ENXIO; /* no data up to the end */
    if (extent->hole && file->size > SEEK_END_OFFSET)
      extent->end = SEEK_END_OFFSET;
  }
  else if (data > at) {
    extent->hole = true;
    extent->end = MIN (data, SEEK_END_OFFSET);
  }
  return 0;
}

/* Find the extent at EXTENT->start.  IS_HOLE is set if it was a hole when the
 * data before it was looked up; by now something can be written there.  If the
 * file system does not report holes, the whole file is data.
 */
static int
find (struct file_extent *extent, bool is_hole, struct error *error)
{
  if (extent->start >= SEEK_END_OFFSET ||
      (!is_hole && find_end_of_data (extent)))
    return 0;
  if (find_end_of_hole (extent, error) == -1)
    return -1;
  if (is_hole && !extent->hole)
    find_end_of_data (extent);
  return 0;
}

#else

static int
find (struct file_extent *extent, bool is_hole, struct error *error)
{
  (void) extent; (void) is_hole; (void) error;
  return 0;
}

#endif

int
file_extent_find (struct file_extent *extent, const struct file *file,
                  uint64_t at, struct error *error)
{
  bool same = extent->file == file;
  bool is_hole = same && extent->hole_follows && at == extent->end;

  if (same && at >= extent->start && at < extent->end)
    return 0;
  *extent = (struct file_extent) {
    .file = file, .start = at, .end = UINT64_MAX
  };
  return find (extent, is_hole, error);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Does direct I/O bypass the page cache?
 *
 * A file system can accept O_DIRECT and use the page cache, as ext4 does for a
 * file whose data is in the journal, or need another alignment than ours.  Linux
 * reports both since 6.1, for many file systems.  For others a read shows the
 * alignment.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/direct-io.h"
#include "io/read.h"

/* Another error is that of the first page, and not of direct I/O. */
static bool
can_read (int fd)
{
  unsigned char *page = read_alloc (READ_ALIGN);
  bool works = page && (pread (fd, page, READ_ALIGN, 0) != -1 ||
                        errno != EINVAL);

  free (page);
  return works;
}

#ifdef STATX_DIOALIGN

static bool
is_aligned (uint32_t align)
{
  return align > 0 && READ_ALIGN % align == 0;
}

bool
direct_io_works (int fd)
{
  struct statx stx;

  if (statx (fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) == -1 ||
      !(stx.stx_mask & STATX_DIOALIGN))
    return can_read (fd);
  return is_aligned (stx.stx_dio_offset_align) &&
    is_aligned (stx.stx_dio_mem_align);
}

#else

bool
direct_io_works (int fd)
{
  return can_read (fd);
}

#endif

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: a list of changes of an image.  The ranges that are read are
 * inside of the image; written as a list and read again, they are the same.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "changes/list.h"
#include "fuzz-main.h"
#include "util/error.h"
#include "util/ranges.h"

#define SIZE ((uint64_t) 64 << 20) /* of the image, as in the corpus */

static int
open_memory (char path[32])
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);

  if (fd == -1) {
    perror ("memfd");
    exit (1);
  }
  snprintf (path, 32, "/dev/fd/%d", fd);
  return fd;
}

static void
check (const struct ranges *ranges)
{
  uint64_t end = 0;

  for (size_t i = 0; i < ranges->count; i++) {
    const struct ranges_item *range = &ranges->items[i];

    if ((i > 0 && range->start <= end) || range->len == 0 ||
        range->start > SIZE || range->len > SIZE - range->start)
      abort ();
    end = range->start + range->len;
  }
}

static void
check_again (const struct ranges *ranges)
{
  struct error error = { "" };
  struct ranges again = { 0 };
  char path[32];
  int fd = open_memory (path);

  dprintf (fd, "[");
  for (size_t i = 0; i < ranges->count; i++)
    dprintf (fd, "%s{\"start\": %" PRIu64 ", \"length\": %" PRIu64 "}",
             i > 0 ? ", " : "", ranges->items[i].start, ranges->items[i].len);
  dprintf (fd, "]\n");
  if (changes_read (path, SIZE, &again, &error) != 0 ||
      again.count != ranges->count)
    abort ();
  if (again.count > 0 && memcmp (again.items, ranges->items,
                                 again.count * sizeof *again.items) != 0)
    abort ();
  ranges_free (&again);
  close (fd);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct error error = { "" };
  struct ranges ranges = { 0 };
  char path[32];
  int fd = open_memory (path), r;

  if (write (fd, data, size) != (ssize_t) size) {
    perror ("memfd");
    exit (1);
  }
  r = changes_read (path, SIZE, &ranges, &error);
  if (r != (error_is_set (&error) ? -1 : 0) || (r != 0 && ranges.count > 0))
    abort ();
  check (&ranges);
  if (r == 0)
    check_again (&ranges);
  ranges_free (&ranges);
  close (fd);
  return 0;
}

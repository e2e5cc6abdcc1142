/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: a list of changes of an image, in JSON or as a mapfile.  The
 * ranges that are read are inside of the image; written as a list and read
 * again, they are the same.  If the list is cut off and still read, they are
 * the same too.
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "fuzz-main.h"
#include "job/changes.h"
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
check_same (const struct ranges *a, const struct ranges *b)
{
  if (a->count != b->count ||
      (a->count > 0 &&
       memcmp (a->items, b->items, a->count * sizeof *a->items) != 0))
    abort ();
}

static void
check_again (const struct ranges *ranges)
{
  struct error error = { "" };
  struct ranges again = { 0 };
  char path[32];
  int fd = open_memory (path);

  dprintf (fd, "{\"ranges\":[");
  for (size_t i = 0; i < ranges->count; i++)
    dprintf (fd, "%s{\"start\":%" PRIu64 ",\"length\":%" PRIu64
             ",\"result\":\"differs\"}", i > 0 ? "," : "",
             ranges->items[i].start, ranges->items[i].len);
  dprintf (fd, "],\"images\":[],\"compared-bytes\":%" PRIu64
           ",\"result\":\"%s\"}", SIZE, ranges->count > 0 ? "differs" : "ok");
  if (changes_read (path, SIZE, &again, &error) != 0)
    abort ();
  check_same (&again, ranges);
  ranges_free (&again);
  close (fd);
}

/* Returns 0 if DATA is read as a list. */
static int
read_list (const uint8_t *data, size_t size, struct ranges *ranges)
{
  struct error error = { "" };
  char path[32];
  int fd = open_memory (path), r;

  if (write (fd, data, size) != (ssize_t) size) {
    perror ("memfd");
    exit (1);
  }
  r = changes_read (path, SIZE, ranges, &error);
  if (r != (error_is_set (&error) ? -1 : 0) || (r != 0 && ranges->count > 0))
    abort ();
  close (fd);
  return r;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct ranges ranges = { 0 }, cut = { 0 };

  if (read_list (data, size, &ranges) != 0)
    return 0;
  check (&ranges);
  check_again (&ranges);
  /* One byte less, and some byte. */
  for (int i = 0; i < 2 && size > 0; i++) {
    size_t len = i == 0 ? size - 1 : data[size / 2] * size / 256;

    if (read_list (data, len, &cut) == 0)
      check_same (&cut, &ranges);
    ranges_free (&cut);
  }
  ranges_free (&ranges);
  return 0;
}

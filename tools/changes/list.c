/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A list of the changed ranges of an image.
 *
 * The rows of nbdinfo contain for each byte whether it changed.  So they must
 * cover the image without gaps; otherwise rows are missing, or the list is that
 * of another disk.  A plain list contains only the changed ranges, and can be
 * empty.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "changes/json-scan.h"
#include "changes/list.h"
#include "util/error.h"
#include "util/ranges.h"

#define DIRTY 1                 /* bit of the type of a row */

/* The members of an object. */
enum {
  HAS_START = 1 << 0, HAS_LENGTH = 1 << 1, HAS_OFFSET = 1 << 2,
  HAS_TYPE = 1 << 3, HAS_DESCRIPTION = 1 << 4,
};
#define HAS_RANGE (HAS_START | HAS_LENGTH)
#define HAS_ROW (HAS_OFFSET | HAS_LENGTH | HAS_TYPE)

struct item {
  unsigned has;
  uint64_t start, len;          /* START is also the offset of a row */
  uint64_t type;
  char description[JSON_SCAN_STRING];
};

struct list {
  struct json_scan scan;
  uint64_t size;                /* size of the image, bytes */
  struct ranges *ranges;
  unsigned form;                /* HAS_RANGE or HAS_ROW; 0 if not yet known */
  uint64_t covered;             /* number of bytes from the start that rows
                                 * cover */
};

/* ---- Objects ---- */

static int
unknown_member (struct list *list, const char *key)
{
  static const char *const map[] = { "present", "depth", "data" };

  for (size_t i = 0; i < sizeof map / sizeof *map; i++)
    if (strcmp (key, map[i]) == 0)
      return json_scan_error (&list->scan,
                              "has '%s', as 'qemu-img map' prints, "
                              "where changed ranges have \"data\": false; use "
                              "the output of 'nbdinfo --json "
                              "--map=qemu:dirty-bitmap:NAME URI'", key);
  return json_scan_error (&list->scan, "has an unknown member '%s'", key);
}

static int
parse_member (struct list *list, const char *key, struct item *item)
{
  const struct {
    const char *key;
    unsigned has;
    uint64_t *number;           /* NULL: the member is the description */
  } members[] = {
    { "start", HAS_START, &item->start },
    { "length", HAS_LENGTH, &item->len },
    { "offset", HAS_OFFSET, &item->start },
    { "type", HAS_TYPE, &item->type },
    { "description", HAS_DESCRIPTION, NULL },
  };
  size_t i = 0;

  while (i < sizeof members / sizeof *members &&
         strcmp (key, members[i].key) != 0)
    i++;
  if (i == sizeof members / sizeof *members)
    return unknown_member (list, key);
  if (item->has & members[i].has)
    return json_scan_error (&list->scan, "has '%s' twice", key);
  item->has |= members[i].has;
  return members[i].number ? json_scan_number (&list->scan, members[i].number)
    : json_scan_string (&list->scan, item->description);
}

/* Returns 1; 0 at the end of the list; or -1. */
static int
parse_item (struct list *list, struct item *item)
{
  char key[JSON_SCAN_STRING];
  int r = json_scan_object (&list->scan);

  *item = (struct item) { .has = 0 };
  if (r != 1)
    return r;
  while ((r = json_scan_key (&list->scan, key)) == 1)
    if (parse_member (list, key, item) == -1)
      return -1;
  return r == 0 ? 1 : -1;
}

/* ---- Checks ---- */

static int
check_form (struct list *list, const struct item *item)
{
  unsigned form = item->has & ~HAS_DESCRIPTION;

  if (item->has != HAS_RANGE && form != HAS_ROW)
    return json_scan_error (&list->scan,
                            "must have either 'start' and 'length', or "
                            "'offset', 'length' and 'type', and nothing else");
  if (list->form != 0 && list->form != form)
    return json_scan_error (&list->scan, "has a different form than the range "
                            "before it");
  list->form = form;
  return 0;
}

static int
check_bounds (struct list *list, const struct item *item)
{
  if (item->len == 0)
    return json_scan_error (&list->scan, "has length 0");
  if (item->start > list->size || item->len > list->size - item->start)
    return json_scan_error (&list->scan,
                            "of %" PRIu64 " bytes at %" PRIu64 " ends "
                            "after the image, which has %" PRIu64 " bytes",
                            item->len, item->start, list->size);
  return 0;
}

/* A row must be of a dirty bitmap, and begin where the previous one ends. */
static int
check_row (struct list *list, const struct item *item)
{
  const char *expected = item->type & DIRTY ? "dirty" : "clean";

  if (item->start != list->covered)
    return json_scan_error (&list->scan,
                            "begins at %" PRIu64 " instead of %" PRIu64
                            ", where the previous range ends", item->start,
                            list->covered);
  if (item->has & HAS_DESCRIPTION && strcmp (item->description, expected) != 0)
    return json_scan_error (&list->scan,
                            "is '%s' with type %" PRIu64 ", which no "
                            "dirty bitmap has", item->description, item->type);
  list->covered += item->len;
  return 0;
}

static int
add_item (struct list *list, const struct item *item)
{
  int err = 0;

  if (check_form (list, item) == -1 || check_bounds (list, item) == -1 ||
      (list->form == HAS_ROW && check_row (list, item) == -1))
    return -1;
  if (list->form == HAS_RANGE || item->type & DIRTY)
    err = ranges_add (list->ranges, item->start, item->len);
  return err == 0 ? 0 : error_errno (list->scan.error, err,
                                     "cannot store the changed ranges");
}

/* ---- The list ---- */

static int
read_list (struct list *list)
{
  struct item item;
  int r = json_scan_begin (&list->scan);

  while (r == 0 && (r = parse_item (list, &item)) == 1)
    r = add_item (list, &item);
  if (r == 0 && list->form == HAS_ROW && list->covered < list->size)
    r = json_scan_error (&list->scan, "it ends at %" PRIu64 " of the %" PRIu64
                         " bytes of the image: it is truncated, or of another "
                         "disk", list->covered, list->size);
  return r;
}

/* Open the list, which must be a regular file or a pipe: a device may have no
 * end, and a terminal would wait for input.
 */
static int
open_list (struct json_scan *scan, const char *path)
{
  struct stat st;
  int r;

  scan->name = path;
  r = strcmp (path, "-") == 0 ? fstat (0, &st) : stat (path, &st);
  if (r == 0 && !S_ISREG (st.st_mode) && !S_ISFIFO (st.st_mode))
    return json_scan_error (scan, "it is not a file or a pipe");
  if (r == 0)
    scan->in = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
  if (!scan->in)
    return json_scan_error (scan, "cannot open: %s", strerror (errno));
  return 0;
}

int
changes_read (const char *path, uint64_t size, struct ranges *ranges,
              struct error *error)
{
  struct list list = {
    .scan = { .error = error }, .size = size, .ranges = ranges
  };
  int r = open_list (&list.scan, path);

  if (r == 0)
    r = read_list (&list);
  if (list.scan.in && list.scan.in != stdin)
    fclose (list.scan.in);
  if (r == 0)
    ranges_sort (ranges);
  else
    ranges_free (ranges);
  return r;
}

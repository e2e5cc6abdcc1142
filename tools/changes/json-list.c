/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists of changed ranges in JSON, as blksum or nbdinfo prints them.  All
 * objects of a list must have the same form.
 *
 * The objects of nbdinfo describe all bytes of the disk.  So they must cover
 * the image without gaps; otherwise objects are missing, or the list is that of
 * another disk.  The list of blksum contains only what differs, and can be
 * empty: only the end of its array shows that it is complete.
 */

#include <config.h>

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "changes/json-list.h"
#include "changes/json-scan.h"
#include "util/error.h"
#include "util/ranges.h"

#define DIRTY 1                 /* flag in the type of an object of nbdinfo */

/* The members of an object. */
enum {
  HAS_START = 1 << 0, HAS_LENGTH = 1 << 1,
  HAS_OFFSET = 1 << 2, HAS_TYPE = 1 << 3, HAS_DESCRIPTION = 1 << 4,
};

struct item {
  unsigned has;
  uint64_t start, len;          /* bytes; START: "start" or "offset" */
  uint64_t type;
  char description[JSON_SCAN_STRING];
};

struct list {
  struct json_scan scan;
  const struct form *form;      /* of the objects; NULL until it is known */
  uint64_t size;                /* size of the image, bytes */
  struct ranges *ranges;
  uint64_t covered;             /* nbdinfo: bytes from the start of the image
                                 * that the objects so far describe */
};

/* ---- Ranges ---- */

static int
check_bounds (struct list *list, uint64_t start, uint64_t len)
{
  if (len == 0)
    return json_scan_error (&list->scan, "has length 0");
  if (start > list->size || len > list->size - start)
    return json_scan_error (&list->scan,
                            "of %" PRIu64 " bytes at %" PRIu64 " ends "
                            "after the image, which has %" PRIu64 " bytes",
                            len, start, list->size);
  return 0;
}

static int
add_range (struct list *list, uint64_t start, uint64_t len)
{
  int err = ranges_add (list->ranges, start, len);

  return err == 0 ? 0 : error_errno (list->scan.error, err,
                                     "cannot store the changed ranges");
}

/* An object must begin where the previous one ends. */
static int
cover (struct list *list, const struct item *item)
{
  if (check_bounds (list, item->start, item->len) == -1)
    return -1;
  if (item->start != list->covered)
    return json_scan_error (&list->scan,
                            "begins at %" PRIu64 " instead of %" PRIu64
                            ": there must be no gap or overlap", item->start,
                            list->covered);
  list->covered += item->len;
  return 0;
}

/* ---- Members ---- */

static const struct member {
  const char *key;
  unsigned bit;
  size_t field;                 /* offset in struct item */
} members[] = {
  { "start", HAS_START, offsetof (struct item, start) },
  { "length", HAS_LENGTH, offsetof (struct item, len) },
  { "offset", HAS_OFFSET, offsetof (struct item, start) },
  { "type", HAS_TYPE, offsetof (struct item, type) },
  { "description", HAS_DESCRIPTION, offsetof (struct item, description) },
};
#define NR_MEMBERS (sizeof members / sizeof *members)

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
  return json_scan_error (&list->scan, "has an unknown member '%s'; blksum(1) "
                          "says which lists are read", key);
}

static int
parse_members (struct list *list, struct item *item)
{
  char key[JSON_SCAN_STRING];
  int r;

  while ((r = json_scan_key (&list->scan, key)) == 1) {
    size_t i = 0;
    void *field;

    while (i < NR_MEMBERS && strcmp (key, members[i].key) != 0)
      i++;
    if (i == NR_MEMBERS)
      return unknown_member (list, key);
    if (item->has & members[i].bit)
      return json_scan_error (&list->scan, "has '%s' twice", key);
    item->has |= members[i].bit;
    field = (char *) item + members[i].field;
    r = members[i].bit == HAS_DESCRIPTION
      ? json_scan_string (&list->scan, field)
      : json_scan_number (&list->scan, field);
    if (r == -1)
      return -1;
  }
  return r;
}

/* ---- Forms ---- */

static int
add_blksum (struct list *list, const struct item *item)
{
  return check_bounds (list, item->start, item->len) == -1 ? -1
    : add_range (list, item->start, item->len);
}

/* The object must be of a dirty bitmap, not of other metadata. */
static int
add_nbdinfo (struct list *list, const struct item *item)
{
  const char *expected = item->type & DIRTY ? "dirty" : "clean";

  if (cover (list, item) == -1)
    return -1;
  if (item->has & HAS_DESCRIPTION && strcmp (item->description, expected) != 0)
    return json_scan_error (&list->scan,
                            "is '%s' with type %" PRIu64 ", which no "
                            "dirty bitmap has", item->description, item->type);
  return item->type & DIRTY ? add_range (list, item->start, item->len) : 0;
}

struct form {
  const char *name;
  unsigned needs, allows;       /* required and optional members, HAS_... */
  int (*add) (struct list *list, const struct item *item);
};

static const struct form forms[] = {
  { "blksum", HAS_START | HAS_LENGTH, 0, add_blksum },
  { "nbdinfo", HAS_OFFSET | HAS_LENGTH | HAS_TYPE, HAS_DESCRIPTION,
    add_nbdinfo },
};

static int
add_item (struct list *list, const struct item *item)
{
  size_t i = 0, count = sizeof forms / sizeof *forms;

  while (i < count && (forms[i].needs & ~item->has ||
                       item->has & ~(forms[i].needs | forms[i].allows)))
    i++;
  if (i == count)
    return json_scan_error (&list->scan,
                            "must have 'start' and 'length', or 'offset', "
                            "'length' and 'type', and nothing else");
  if (!list->form)
    list->form = &forms[i];
  if (list->form != &forms[i])
    return json_scan_error (&list->scan, "is of the format %s, not %s",
                            forms[i].name, list->form->name);
  return forms[i].add (list, item);
}

/* ---- The list ---- */

/* Returns 1; 0 at the end of the list; or -1. */
static int
parse_item (struct list *list, struct item *item)
{
  int r = json_scan_object (&list->scan);

  *item = (struct item) { .has = 0 };
  if (r == 1 && parse_members (list, item) == -1)
    return -1;
  return r;
}

int
json_list_read (FILE *in, const char *name, uint64_t size,
                struct ranges *ranges, struct error *error)
{
  struct list list = {
    .scan = { .in = in, .name = name, .error = error },
    .size = size, .ranges = ranges
  };
  struct item item;
  int r = json_scan_begin (&list.scan);

  while (r == 0 && (r = parse_item (&list, &item)) == 1)
    r = add_item (&list, &item);
  if (r == 0 && list.covered < size && list.form &&
      list.form->add == add_nbdinfo)
    r = json_scan_error (&list.scan, "it ends at %" PRIu64 " of the %" PRIu64
                         " bytes of the image: it is truncated, or of another "
                         "disk", list.covered, size);
  return r;
}

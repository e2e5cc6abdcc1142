/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists of changed ranges in JSON, in the forms that different programs print;
 * blksum(1) lists them.  All objects of a list must have the same form.
 *
 * The objects of nbdinfo and VMware describe all bytes of the disk.  So they
 * must cover the image without gaps; otherwise objects are missing, or the list
 * is that of another disk.  The other lists contain only what changed, and can
 * be empty: only the end of their array shows that they are complete.  nbdinfo
 * always prints an array, so only VMware's objects are accepted without one.
 *
 * The members of an object can have any order.  So the ranges in an inner array
 * are added before all members of its object are known, and are checked against
 * these at the end of the object.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "changes/json-list.h"
#include "changes/json-scan.h"
#include "util/changes-file.h"
#include "util/error.h"
#include "util/ranges.h"

#define DIRTY 1                 /* flag in the type of an object of nbdinfo */

/* The members of an object. */
enum {
  HAS_START = 1 << 0, HAS_LENGTH = 1 << 1,
  HAS_OFFSET = 1 << 2, HAS_TYPE = 1 << 3, HAS_DESCRIPTION = 1 << 4,
  HAS_EXISTS = 1 << 5,
  HAS_TYPE_NAME = 1 << 6, HAS_START_OFFSET = 1 << 7, HAS_CHANGED_AREA = 1 << 8,
  HAS_BLOCK_TYPE = 1 << 9, HAS_CAPACITY = 1 << 10, HAS_BLOCKS = 1 << 11,
};

struct item {
  unsigned has;
  uint64_t start, len;          /* bytes; START: any member with an offset */
  uint64_t type;                /* "type", or "block_metadata_type" */
  uint64_t capacity;            /* bytes */
  char text[JSON_SCAN_STRING];  /* "description", or "exists" */
  char type_name[JSON_SCAN_STRING];
  uint64_t first;               /* start of the first range in its array;
                                 * set only if has_ranges is true */
  bool has_ranges;
};

struct list {
  struct json_scan scan;
  enum changes_format format;   /* CHANGES_ANY until it is known */
  uint64_t size;                /* size of the image, bytes */
  struct ranges *ranges;
  uint64_t covered;             /* nbdinfo and VMware: bytes from the start of
                                 * the image that the objects so far describe */
  uint64_t end;                 /* end of the last range, in the forms whose
                                 * ranges are sorted */
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

/* Add a range of a form whose ranges are sorted and do not overlap. */
static int
add_sorted (struct list *list, uint64_t start, uint64_t len)
{
  if (check_bounds (list, start, len) == -1)
    return -1;
  if (start < list->end)
    return json_scan_error (&list->scan,
                            "begins at %" PRIu64 ", before %" PRIu64 ", where "
                            "the previous range ends", start, list->end);
  list->end = start + len;
  return add_range (list, start, len);
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

enum kind { NUMBER, TEXT, ARRAY };

struct member {
  const char *key;              /* NULL ends a table */
  unsigned bit;
  enum kind kind;
  size_t field;                 /* offset in struct item, unless an array */
};

#define FIELD(name) offsetof (struct item, name)

static const struct member members[] = {
  { "start", HAS_START, NUMBER, FIELD (start) },
  { "length", HAS_LENGTH, NUMBER, FIELD (len) },
  { "offset", HAS_OFFSET, NUMBER, FIELD (start) },
  { "type", HAS_TYPE, NUMBER, FIELD (type) },
  { "description", HAS_DESCRIPTION, TEXT, FIELD (text) },
  { "exists", HAS_EXISTS, TEXT, FIELD (text) },
  { "_typeName", HAS_TYPE_NAME, TEXT, FIELD (type_name) },
  { "startOffset", HAS_START_OFFSET, NUMBER, FIELD (start) },
  { "changedArea", HAS_CHANGED_AREA, ARRAY, 0 },
  { "block_metadata_type", HAS_BLOCK_TYPE, NUMBER, FIELD (type) },
  { "volume_capacity_bytes", HAS_CAPACITY, NUMBER, FIELD (capacity) },
  { "block_metadata", HAS_BLOCKS, ARRAY, 0 },
  { .key = NULL },
};

/* The members of the objects in changedArea and in block_metadata. */
static const struct member area_members[] = {
  { "start", HAS_START, NUMBER, FIELD (start) },
  { "length", HAS_LENGTH, NUMBER, FIELD (len) },
  { "_typeName", HAS_TYPE_NAME, TEXT, FIELD (type_name) },
  { .key = NULL },
};
static const struct member block_members[] = {
  { "byte_offset", HAS_OFFSET, NUMBER, FIELD (start) },
  { "size_bytes", HAS_LENGTH, NUMBER, FIELD (len) },
  { .key = NULL },
};

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

static int parse_array (struct list *list, struct item *item, unsigned bit);

/* Parse the members of an object, all of which must be in TABLE. */
static int
parse_members (struct list *list, const struct member *table,
               struct item *item)
{
  char key[JSON_SCAN_STRING];
  int r;

  while ((r = json_scan_key (&list->scan, key)) == 1) {
    const struct member *member = table;
    void *field;

    while (member->key && strcmp (key, member->key) != 0)
      member++;
    if (!member->key)
      return unknown_member (list, key);
    if (item->has & member->bit)
      return json_scan_error (&list->scan, "has '%s' twice", key);
    item->has |= member->bit;
    field = (char *) item + member->field;
    switch (member->kind) {
    case NUMBER: r = json_scan_number (&list->scan, field); break;
    case TEXT: r = json_scan_string (&list->scan, field); break;
    case ARRAY: r = parse_array (list, item, member->bit); break;
    }
    if (r == -1)
      return -1;
  }
  return r;
}

/* ---- Arrays in an object ---- */

static int
check_type_name (struct list *list, const struct item *item,
                 const char *expected)
{
  if (item->has & HAS_TYPE_NAME && strcmp (item->type_name, expected) != 0)
    return json_scan_error (&list->scan, "has the type '%s', not '%s'",
                            item->type_name, expected);
  return 0;
}

static int
add_area (struct list *list, const struct item *area)
{
  if ((area->has | HAS_TYPE_NAME) != (HAS_START | HAS_LENGTH | HAS_TYPE_NAME))
    return json_scan_error (&list->scan, "must have 'start' and 'length'");
  if (check_type_name (list, area, "DiskChangeExtent") == -1)
    return -1;
  return add_sorted (list, area->start, area->len);
}

/* Parse the array of the member BIT, and add its ranges.  In block_metadata,
 * a range without byte_offset is at offset 0.
 */
static int
parse_array (struct list *list, struct item *item, unsigned bit)
{
  bool is_area = bit == HAS_CHANGED_AREA;
  struct item inner;
  int r;

  /* block_metadata without ranges is printed as null. */
  if (!is_area && (r = json_scan_null (&list->scan)) != 0)
    return r == 1 ? 0 : -1;
  if (json_scan_inner_begin (&list->scan) == -1)
    return -1;
  while ((r = json_scan_inner_object (&list->scan)) == 1) {
    inner = (struct item) { .has = 0 };
    if (parse_members (list, is_area ? area_members : block_members,
                       &inner) == -1 ||
        (is_area ? add_area (list, &inner)
                 : add_sorted (list, inner.start, inner.len)) == -1)
      return -1;
    if (!item->has_ranges)
      item->first = inner.start;
    item->has_ranges = true;
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
  if (item->has & HAS_DESCRIPTION && strcmp (item->text, expected) != 0)
    return json_scan_error (&list->scan,
                            "is '%s' with type %" PRIu64 ", which no "
                            "dirty bitmap has", item->text, item->type);
  return item->type & DIRTY ? add_range (list, item->start, item->len) : 0;
}

/* A range that does not exist any more reads as zeros, so it has changed, too.
 */
static int
add_rbd (struct list *list, const struct item *item)
{
  if (strcmp (item->text, "true") != 0 && strcmp (item->text, "false") != 0)
    return json_scan_error (&list->scan, "has '%s' for 'exists', which is "
                            "neither 'true' nor 'false'", item->text);
  return add_sorted (list, item->start, item->len);
}

static int
check_vmware (struct list *list, const struct item *item)
{
  if (check_type_name (list, item, "DiskChangeInfo") == -1 ||
      cover (list, item) == -1)
    return -1;
  if (item->has_ranges &&
      (item->first < item->start || list->end > list->covered))
    return json_scan_error (&list->scan,
                            "has a changed area outside of the %" PRIu64
                            " bytes at %" PRIu64 " that it describes",
                            item->len, item->start);
  return 0;
}

static int
check_kubernetes (struct list *list, const struct item *item)
{
  if (item->type != 1 && item->type != 2)
    return json_scan_error (&list->scan, "has the block_metadata_type %" PRIu64
                            ", which is neither 1 nor 2", item->type);
  if (item->capacity != list->size)
    return json_scan_error (&list->scan,
                            "is of a volume of %" PRIu64 " bytes, and the "
                            "image has %" PRIu64, item->capacity, list->size);
  return 0;
}

struct form {
  enum changes_format format;
  unsigned needs, allows;       /* required and optional members, HAS_... */
  int (*add) (struct list *list, const struct item *item);
};

static const struct form forms[] = {
  { CHANGES_BLKSUM, HAS_START | HAS_LENGTH, 0, add_blksum },
  { CHANGES_NBDINFO, HAS_OFFSET | HAS_LENGTH | HAS_TYPE, HAS_DESCRIPTION,
    add_nbdinfo },
  { CHANGES_RBD, HAS_OFFSET | HAS_LENGTH | HAS_EXISTS, 0, add_rbd },
  /* changedArea can be omitted if there are no changes. */
  { CHANGES_VMWARE, HAS_START_OFFSET | HAS_LENGTH,
    HAS_CHANGED_AREA | HAS_TYPE_NAME, check_vmware },
  { CHANGES_KUBERNETES, HAS_BLOCK_TYPE | HAS_CAPACITY | HAS_BLOCKS, 0,
    check_kubernetes },
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
                            "must have 'start' and 'length', or the members of "
                            "another list in blksum(1), and nothing else");
  if (list->format == CHANGES_ANY)
    list->format = forms[i].format;
  if (list->format != forms[i].format)
    return json_scan_error (&list->scan, "is of the format %s, not %s",
                            changes_format_name (forms[i].format),
                            changes_format_name (list->format));
  if (list->scan.bare && list->format != CHANGES_VMWARE)
    return json_scan_error (&list->scan, "is not in a list, whose end would "
                            "show that it is complete");
  return forms[i].add (list, item);
}

/* ---- The list ---- */

/* Returns 1; 0 at the end of the list; or -1. */
static int
parse_item (struct list *list, struct item *item)
{
  int r = json_scan_object (&list->scan);

  *item = (struct item) { .has = 0 };
  if (r == 1 && parse_members (list, members, item) == -1)
    return -1;
  return r;
}

int
json_list_read (FILE *in, const struct changes_file *file, uint64_t size,
                struct ranges *ranges, struct error *error)
{
  struct list list = {
    .scan = { .in = in, .name = file->path, .error = error },
    .format = file->format, .size = size, .ranges = ranges
  };
  struct item item;
  int r = json_scan_begin (&list.scan);

  while (r == 0 && (r = parse_item (&list, &item)) == 1)
    r = add_item (&list, &item);
  if (r == 0 && list.covered < size &&
      (list.format == CHANGES_NBDINFO || list.format == CHANGES_VMWARE))
    r = json_scan_error (&list.scan, "it ends at %" PRIu64 " of the %" PRIu64
                         " bytes of the image: it is truncated, or of another "
                         "disk", list.covered, size);
  return r;
}

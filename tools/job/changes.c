/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../lib/common/mapfile.h"
#include "../lib/common/text.h"
#include "job/changes.h"
#include "util/error.h"
#include "util/ranges.h"

/* ---- Mapfiles ---- */

/* A mapfile of "blkhash compare --output=mapfile" as a list of changed ranges:
 * "+" is what differs, and "?" is the rest.
 *
 * In a mapfile of GNU ddrescue "+" means copied, so the first line must say
 * that blkhash has created the mapfile; ddrescue and other programs write
 * another one.  All that follows must be as blkhash prints it.  The ranges must
 * cover the image without gaps; otherwise lines are missing, or the mapfile is
 * that of another disk.
 */

#define SIGNATURE MAPFILE_SIGNATURE ("blkhash")
#define HEADER SIGNATURE MAPFILE_STATUS_BEGIN MAPFILE_STATUS_END ("+")

struct mapfile {
  FILE *in;
  const char *name;
  uint64_t line;                /* number of the line, from 1 */
  uint64_t size;                /* size of the image, bytes */
  uint64_t end;                 /* end of the last range, bytes */
  struct ranges *ranges;
  struct error *error;
};

static int
read_error (struct mapfile *map)
{
  return error_about (map->error, map->name, "cannot read: %s",
                      strerror (errno));
}

static int
read_header (struct mapfile *map)
{
  char header[sizeof HEADER - 1];
  size_t len = fread (header, 1, sizeof header, map->in);

  if (ferror (map->in))
    return read_error (map);
  if (len < strlen (SIGNATURE) ||
      memcmp (header, SIGNATURE, strlen (SIGNATURE)) != 0)
    return error_about (map->error, map->name, "it is not a mapfile that "
                        "'blkhash compare --output=mapfile' has created for "
                        "the whole disk; in one of ddrescue '+' means copied, "
                        "not changed, and the two cannot be told apart");
  if (len < sizeof header || memcmp (header, HEADER, len) != 0)
    return error_about (map->error, map->name, "its header is not complete: "
                        "the comparison failed");
  map->line = 4;
  return 0;
}

static int
line_error (struct mapfile *map, const char *what)
{
  return error_about (map->error, map->name, "line %" PRIu64 " %s", map->line,
                      what);
}

/* Add the range in LINE, which must be the line that blkhash prints for it. */
static int
add_line (struct mapfile *map, const char *line)
{
  char expected[64], *rest, status;
  uint64_t start = strtoull (line, &rest, 16);
  uint64_t len = strtoull (rest, &rest, 16);
  int err;

  status = rest[strspn (rest, " ")];
  snprintf (expected, sizeof expected, MAPFILE_RANGE, start, len, status);
  if (strcmp (line, expected) != 0 ||
      (status != MAPFILE_FINISHED && status != MAPFILE_NOT_TRIED))
    return line_error (map, "is not a range as blkhash prints it");
  if (start != map->end)
    return error_about (map->error, map->name, "line %" PRIu64 " begins at %"
                        PRIu64 " instead of %" PRIu64 ": there must be no gap "
                        "or overlap", map->line, start, map->end);
  if (len == 0 || len > map->size - start)
    return line_error (map, len == 0 ? "has length 0" : "ends after the image");
  map->end += len;
  err = status == MAPFILE_FINISHED ? ranges_add (map->ranges, start, len) : 0;
  return err == 0 ? 0 : error_errno (map->error, err,
                                     "cannot store the changed ranges");
}

/* Read the mapfile NAME from IN, and add its ranges with the status "+" to
 * RANGES.  The image has SIZE bytes.  Returns 0, or -1 with the reason.
 */
static int
read_mapfile (FILE *in, const char *name, uint64_t size, struct ranges *ranges,
              struct error *error)
{
  struct mapfile map = {
    .in = in, .name = name, .size = size, .ranges = ranges, .error = error
  };
  char line[64];

  if (read_header (&map) == -1)
    return -1;
  while (fgets (line, sizeof line, in)) {
    map.line++;
    if (add_line (&map, line) == -1)
      return -1;
  }
  if (ferror (in))
    return read_error (&map);
  if (map.end < size)
    return error_about (error, name, "it ends at %" PRIu64 " of the %" PRIu64
                        " bytes of the image: it is truncated, or of another "
                        "disk", map.end, size);
  return 0;
}

/* ---- A parser of JSON ---- */

/* It reads the JSON of lists of ranges: an array of objects, whose members are
 * integers or strings; or an object that has such arrays as members.
 *
 * The input is untrusted.  Common JSON parsers read a number that is too large
 * as the largest one, and use the last of two members with the same name.  This
 * parser accepts only what a list of ranges contains, and its caller refuses
 * repeated members.  Memory does not grow with the input.
 *
 * After an error only json_scan_error may be called.
 */

#define JSON_SCAN_STRING 32     /* size of a string with its NUL; a longer
                                 * string is an error, unless it is skipped */

struct json_scan {
  FILE *in;
  const char *name;             /* of the file, for errors */
  uint64_t item;                /* number of the object in its array, from 1, or
                                 * 0 outside of an array */
  uint64_t member;              /* number of the member in its object, from 1 */
  struct error *error;
};

/* Set an error of the current object.  Always returns -1. */
static int json_scan_error (struct json_scan *scan, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

static int
json_scan_error (struct json_scan *scan, const char *fmt, ...)
{
  char where[40] = "", text[512];
  va_list args;

  if (scan->item > 0)
    snprintf (where, sizeof where, "range %" PRIu64 " ", scan->item);
  va_start (args, fmt);
  vsnprintf (text, sizeof text, fmt, args);
  va_end (args);
  return error_about (scan->error, scan->name, "%s%s", where, text);
}

/* Returns the next character that is not white space of JSON, or EOF. */
static int
next (struct json_scan *scan)
{
  int c;

  do
    c = getc_unlocked (scan->in);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
  return c;
}

/* Set the error for C, a character or EOF that is not allowed here.  Called
 * right after C was read, because then errno has the reason of a read error.
 */
static int
unexpected_char (struct json_scan *scan, int c)
{
  int errnum = errno;

  if (c != EOF)
    return json_scan_error (scan, isgraph (c) ? "has an unexpected '%c'"
                            : "has an unexpected byte %d", c);
  if (ferror (scan->in))
    return error_about (scan->error, scan->name, "cannot read: %s",
                        strerror (errnum));
  return json_scan_error (scan, "is truncated: the list has no end");
}

/* Read the start of an array or of an object.  Returns '[' or '{'. */
static int
json_scan_begin (struct json_scan *scan)
{
  int c = next (scan);

  if (c == '[' || c == '{')
    return c;
  if (c == EOF && !ferror (scan->in))
    return json_scan_error (scan, "it is empty");
  if (c == EOF)
    return unexpected_char (scan, c);
  return json_scan_error (scan, "it is not a list of ranges in JSON; "
                          "'blkhash compare --output=json' and 'nbdinfo --map "
                          "--json' print one");
}

/* Check that the input ends. */
static int
json_scan_end (struct json_scan *scan)
{
  int c = next (scan);

  if (c == EOF && !ferror (scan->in))
    return 0;
  return c == EOF ? unexpected_char (scan, c)
    : json_scan_error (scan, "there is trailing data after the list of ranges");
}

/* Read the start of an array, the value of a member. */
static int
json_scan_array (struct json_scan *scan)
{
  int c = next (scan);

  return c == '[' ? 0 : unexpected_char (scan, c);
}

/* Does another object begin?  At the end of the array the object that has the
 * array continues.
 */
static enum answer
json_scan_object (struct json_scan *scan)
{
  int c = next (scan);

  if (c == ']') {
    scan->item = 0;
    scan->member = 1;           /* the array was a member */
    return ANSWER_NO;
  }
  if (scan->item > 0 && c == ',')
    c = next (scan);
  else if (scan->item > 0)
    return unexpected_char (scan, c);
  scan->item++;
  scan->member = 0;
  return c == '{' ? ANSWER_YES : unexpected_char (scan, c);
}

/* Read a string after its first '"'. */
static int
parse_string (struct json_scan *scan, char text[JSON_SCAN_STRING])
{
  size_t len = 0;
  int c;

  while ((c = getc_unlocked (scan->in)) != '"') {
    if (c == EOF || c < ' ' || c >= 127 || c == '\\')
      return unexpected_char (scan, c);
    if (len == JSON_SCAN_STRING - 1)
      return json_scan_error (scan, "has a string that is too long: '%.*s...'",
                              (int) len, text);
    text[len++] = c;
  }
  text[len] = '\0';
  return 0;
}

/* Does the object have another member?  If so, KEY is its key, and its value is
 * next.
 */
static enum answer
json_scan_key (struct json_scan *scan, char key[JSON_SCAN_STRING])
{
  int c = next (scan);

  if (c == '}')
    return ANSWER_NO;
  if (scan->member > 0) {
    if (c != ',')
      return unexpected_char (scan, c);
    c = next (scan);
  }
  scan->member++;
  if (c != '"')
    return unexpected_char (scan, c);
  if (parse_string (scan, key) == -1)
    return ANSWER_FAILED;
  c = next (scan);
  return c == ':' ? ANSWER_YES : unexpected_char (scan, c);
}

/* Parse an integer from 0 to 2^64 - 1 without a sign, leading zeros, a fraction
 * or an exponent.  Returns -1 if TEXT is anything else.
 */
static int
parse_number (const char *text, uint64_t *number)
{
  const char *rest = number_parse (text, number);

  return rest && *rest == '\0' && (*text != '0' || text[1] == '\0') ? 0 : -1;
}

/* Read a number, the value of the member that json_scan_key has returned. */
static int
json_scan_number (struct json_scan *scan, uint64_t *number)
{
  char text[JSON_SCAN_STRING];
  size_t len = 0;
  int c = next (scan);

  while (c != EOF && c != '\0' && strchr ("+-.0123456789eE", c) &&
         len < sizeof text - 1) {
    text[len++] = c;
    c = getc_unlocked (scan->in);
  }
  text[len] = '\0';
  if (len == 0 || (c == EOF && ferror (scan->in)))
    return unexpected_char (scan, c);
  if (parse_number (text, number) == -1)
    return json_scan_error (scan,
                            "has '%s' instead of an integer from 0 to 2^64 - "
                            "1", text);
  return c == EOF || ungetc (c, scan->in) == EOF ? unexpected_char (scan, c)
                                                 : 0;
}

/* The same for a string. */
static int
json_scan_string (struct json_scan *scan, char text[JSON_SCAN_STRING])
{
  int c = next (scan);

  return c == '"' ? parse_string (scan, text) : unexpected_char (scan, c);
}

/* Skip a string, which can be of any length, and have any characters. */
static int
json_scan_skip_string (struct json_scan *scan)
{
  int c = next (scan);

  if (c != '"')
    return unexpected_char (scan, c);
  while ((c = getc_unlocked (scan->in)) != '"') {
    if (c == '\\')
      c = getc_unlocked (scan->in);
    if (c == EOF || c < ' ')
      return unexpected_char (scan, c);
  }
  return 0;
}

/* ---- Lists in JSON ---- */

/* A list in JSON, as blkhash compare or nbdinfo prints it.
 *
 * nbdinfo prints an array of objects that describe all bytes of the disk.  So
 * they must cover the image without gaps; otherwise objects are missing, or the
 * list is that of another disk.  blkhash prints only the ranges that differ, in
 * an object, which says at its end how many bytes were compared: these must be
 * all bytes of the image.
 */

#define DIRTY 1                 /* flag in the type of an object of nbdinfo */

/* The members of an object. */
enum {
  HAS_START = 1 << 0, HAS_LENGTH = 1 << 1, HAS_RESULT = 1 << 2,
  HAS_OFFSET = 1 << 3, HAS_TYPE = 1 << 4, HAS_DESCRIPTION = 1 << 5,
  HAS_NAME = 1 << 6, HAS_SIZE = 1 << 7,
  HAS_RANGES = 1 << 8, HAS_IMAGES = 1 << 9, HAS_COMPARED = 1 << 10,
  HAS_PART = 1 << 11,
};

struct item {
  unsigned has;
  uint64_t start, len;          /* bytes; START: "start" or "offset" */
  uint64_t type;
  uint64_t size;                /* "size" or "compared-bytes" */
  char word[JSON_SCAN_STRING];  /* "description" or "result" */
};

struct list {
  struct json_scan scan;
  uint64_t size;                /* size of the image, bytes */
  struct ranges *ranges;
  bool any;                     /* blkhash: a range differs */
  uint64_t covered;             /* nbdinfo: bytes from the start of the image
                                 * that the objects so far describe */
};

/* An object that a list contains. */
struct form {
  unsigned needs, allows;       /* required and optional members, HAS_... */
  const char *what;             /* the required members, for an error */
  int (*add) (struct list *list, const struct item *item); /* or NULL */
};

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

static int
add_compared (struct list *list, const struct item *item)
{
  if (strcmp (item->word, "differs") != 0)
    return json_scan_error (&list->scan, "has the result '%s'", item->word);
  list->any = true;
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
  if (item->has & HAS_DESCRIPTION && strcmp (item->word, expected) != 0)
    return json_scan_error (&list->scan,
                            "is '%s' with type %" PRIu64 ", which no "
                            "dirty bitmap has", item->word, item->type);
  return item->type & DIRTY ? add_range (list, item->start, item->len) : 0;
}

/* Check the whole object of blkhash, after its ranges were added. */
static int
add_comparison (struct list *list, const struct item *item)
{
  if (strcmp (item->word, list->any ? "differs" : "ok") != 0)
    return json_scan_error (&list->scan, "it has %s, and the result '%s'",
                            list->any ? "ranges" : "no ranges", item->word);
  if (item->size != list->size)
    return json_scan_error (&list->scan, "%" PRIu64 " bytes were compared, and "
                            "the image has %" PRIu64 ": only a comparison of "
                            "all of it says what has changed", item->size,
                            list->size);
  return 0;
}

static const struct form compared = {
  HAS_START | HAS_LENGTH | HAS_RESULT, 0, "'start', 'length' and 'result'",
  add_compared
};
static const struct form image = {
  HAS_NAME | HAS_SIZE, 0, "'name' and 'size'", NULL
};
static const struct form comparison = {
  HAS_RANGES | HAS_IMAGES | HAS_COMPARED | HAS_RESULT, HAS_PART,
  "'ranges', 'images', 'compared-bytes' and 'result', as 'blkhash compare "
  "--output=json' prints them for whole images", add_comparison
};
static const struct form nbdinfo = {
  HAS_OFFSET | HAS_LENGTH | HAS_TYPE, HAS_DESCRIPTION,
  "'offset', 'length' and 'type', as 'nbdinfo --json "
  "--map=qemu:dirty-bitmap:NAME URI' prints them", add_nbdinfo
};

static int read_array (struct list *list, const struct form *form);

#define FIELD(name) offsetof (struct item, name)

static const struct member {
  const char *key;
  unsigned bit;
  enum { NUMBER, WORD, STRING, ARRAY } type;
  size_t field;                 /* of a NUMBER or WORD: offset in struct item */
  const struct form *form;      /* of the objects of an ARRAY */
} members[] = {
  { "start", HAS_START, NUMBER, FIELD (start), NULL },
  { "length", HAS_LENGTH, NUMBER, FIELD (len), NULL },
  { "offset", HAS_OFFSET, NUMBER, FIELD (start), NULL },
  { "type", HAS_TYPE, NUMBER, FIELD (type), NULL },
  { "size", HAS_SIZE, NUMBER, FIELD (size), NULL },
  { "compared-bytes", HAS_COMPARED, NUMBER, FIELD (size), NULL },
  { "description", HAS_DESCRIPTION, WORD, FIELD (word), NULL },
  { "result", HAS_RESULT, WORD, FIELD (word), NULL },
  { "name", HAS_NAME, STRING, 0, NULL },
  { "part", HAS_PART, STRING, 0, NULL },
  { "ranges", HAS_RANGES, ARRAY, 0, &compared },
  { "images", HAS_IMAGES, ARRAY, 0, &image },
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
  return json_scan_error (&list->scan, "has an unknown member '%s'; "
                          "blkhash-update(1) says which lists are read", key);
}

static int
read_value (struct list *list, const struct member *member, struct item *item)
{
  void *field = (char *) item + member->field;

  switch (member->type) {
  case NUMBER: return json_scan_number (&list->scan, field);
  case WORD: return json_scan_string (&list->scan, field);
  case STRING: return json_scan_skip_string (&list->scan);
  case ARRAY: break;
  }
  return json_scan_array (&list->scan) == -1 ? -1
    : read_array (list, member->form);
}

/* Read the members of an object of FORM, after its '{'.  An array is only read
 * in the outermost object, because other forms have none: so there is no
 * recursion.
 */
static int
read_object (struct list *list, const struct form *form)
{
  struct item item = { .has = 0 };
  char key[JSON_SCAN_STRING];
  enum answer more;

  while ((more = json_scan_key (&list->scan, key)) == ANSWER_YES) {
    size_t i = 0;

    while (i < NR_MEMBERS && strcmp (key, members[i].key) != 0)
      i++;
    if (i == NR_MEMBERS)
      return unknown_member (list, key);
    if (item.has & members[i].bit)
      return json_scan_error (&list->scan, "has '%s' twice", key);
    item.has |= members[i].bit;
    if (members[i].type == ARRAY && !(form->needs & members[i].bit))
      break;
    if (read_value (list, &members[i], &item) == -1)
      return -1;
  }
  if (more == ANSWER_FAILED)
    return -1;
  if (form->needs & ~item.has || item.has & ~(form->needs | form->allows))
    return json_scan_error (&list->scan, "must have %s, and nothing else",
                            form->what);
  return form->add ? form->add (list, &item) : 0;
}

/* Read the objects of an array, after its '['. */
static int
read_array (struct list *list, const struct form *form)
{
  enum answer more;

  while ((more = json_scan_object (&list->scan)) == ANSWER_YES)
    if (read_object (list, form) == -1)
      return -1;
  return more == ANSWER_NO ? 0 : -1;
}

/* Read the list NAME from IN, and add its ranges to RANGES, without sorting
 * them.  The image has SIZE bytes.  Returns 0, or -1 with the reason.
 */
static int
read_json (FILE *in, const char *name, uint64_t size,
           struct ranges *ranges, struct error *error)
{
  struct list list = {
    .scan = { .in = in, .name = name, .error = error },
    .size = size, .ranges = ranges
  };
  int begin = json_scan_begin (&list.scan), r = -1;

  if (begin == '[')
    r = read_array (&list, &nbdinfo);
  else if (begin == '{')
    r = read_object (&list, &comparison);
  if (r == 0)
    r = json_scan_end (&list.scan);
  if (r == 0 && begin == '[' && list.covered < size)
    r = json_scan_error (&list.scan, "it ends at %" PRIu64 " of the %" PRIu64
                         " bytes of the image: it is truncated, or of another "
                         "disk", list.covered, size);
  return r;
}

/* ---- A list of any form ---- */

/* Open the list, which must be a regular file or a pipe: a device may have no
 * end, and a terminal would wait for input.  "-" is standard input.  Returns
 * NULL with the reason on error.
 */
static FILE *
open_list (const char *path, struct error *error)
{
  struct stat st;
  FILE *in = NULL;
  int r = strcmp (path, "-") == 0 ? fstat (0, &st) : stat (path, &st);

  if (r == 0 && !S_ISREG (st.st_mode) && !S_ISFIFO (st.st_mode)) {
    error_about (error, path, "it is not a file or a pipe");
    return NULL;
  }
  if (r == 0)
    in = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
  if (!in)
    error_about (error, path, "cannot open: %s", strerror (errno));
  return in;
}

int
changes_read_stream (FILE *in, const char *name, uint64_t size,
                     struct ranges *ranges, struct error *error)
{
  int c = getc (in), r;

  /* No list in JSON begins with a comment, and every mapfile of ours does. */
  ungetc (c, in);
  r = c == '#' ? read_mapfile (in, name, size, ranges, error)
               : read_json (in, name, size, ranges, error);
  if (r == 0)
    ranges_sort (ranges);
  else
    ranges_free (ranges);
  return r;
}

int
changes_read (const char *path, uint64_t size, struct ranges *ranges,
              struct error *error)
{
  FILE *in = open_list (path, error);
  int r;

  if (!in)
    return -1;
  r = changes_read_stream (in, path, size, ranges, error);
  if (in != stdin)
    fclose (in);
  return r;
}

/* ---- The name of a dirty bitmap ---- */

#define PREFIX "blk-"
#define MIN_DIGITS 8

/* Returns the number of hexadecimal digits of the sum in NAME, or 0 if there is
 * no sum.  Other text can follow the digits, but a letter must not.
 */
static size_t
count_digits (const char *name)
{
  const char *digits;
  size_t count;

  if (strncmp (name, PREFIX, strlen (PREFIX)) != 0)
    return 0;
  digits = name + strlen (PREFIX);
  count = strspn (digits, "0123456789abcdefABCDEF");
  return count < MIN_DIGITS || isalnum ((unsigned char) digits[count]) ? 0
                                                                       : count;
}

bool
bitmap_name_has_sum (const char *name)
{
  return count_digits (name) > 0;
}

int
bitmap_name_check (const char *name, const char *sum, struct error *error)
{
  size_t count = count_digits (name);

  if (count == 0 ||
      (count <= strlen (sum) &&
       strncasecmp (name + strlen (PREFIX), sum, count) == 0))
    return 0;
  return error_set (error, "the dirty bitmap '%s' records the changes since a "
                    "different sum, not since %s", name, sum);
}

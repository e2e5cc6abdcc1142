/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: lists of changed ranges in the formats of other programs.  Random
 * lists are read completely, and a list that is truncated at any byte is either
 * refused or read completely.
 */

#include <config.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "changes/list.h"
#include "util/changes-file.h"
#include "util/error.h"
#include "util/ranges.h"

static int fd;                  /* a file in memory, for the lists */
static char path[32];           /* of this file */

static int
read_bytes (enum changes_format format, const char *text, size_t len,
            uint64_t size, struct ranges *ranges, struct error *error)
{
  const struct changes_file file = { .path = path, .format = format };
  int r;

  assert_int_equal (ftruncate (fd, 0), 0);
  assert_int_equal (pwrite (fd, text, len, 0), len);
  *ranges = (struct ranges) { 0 };
  *error = (struct error) { "" };
  r = changes_read (&file, size, ranges, error);
  assert_int_equal (r, error_is_set (error) ? -1 : 0);
  if (r == -1)
    assert_null (ranges->items);
  return r;
}

static void
assert_same (const struct ranges *got, const struct ranges *expected)
{
  assert_int_equal (got->count, expected->count);
  if (got->count > 0)
    assert_memory_equal (got->items, expected->items,
                         got->count * sizeof *got->items);
}

static void
refuses_as (enum changes_format format, const char *text, uint64_t size,
            const char *expected)
{
  struct ranges ranges;
  struct error error;

  assert_int_equal (read_bytes (format, text, strlen (text), size, &ranges,
                                &error), -1);
  if (!strstr (error.text, expected) || !strstr (error.text, path))
    fail_msg ("%s: '%s' is not in: %s", text, expected, error.text);
}

static void
refuses (const char *text, uint64_t size, const char *expected)
{
  refuses_as (CHANGES_ANY, text, size, expected);
}

/* Check that TEXT lists the ranges EXPECTED, as "START+LENGTH ...". */
static void
says_as (enum changes_format format, const char *text, uint64_t size,
         const char *expected)
{
  struct ranges ranges;
  struct error error;
  char got[256] = "";

  read_bytes (format, text, strlen (text), size, &ranges, &error);
  assert_string_equal (error.text, "");
  for (size_t i = 0; i < ranges.count; i++)
    sprintf (got + strlen (got), "%s%" PRIu64 "+%" PRIu64, i > 0 ? " " : "",
             ranges.items[i].start, ranges.items[i].len);
  assert_string_equal (got, expected);
  ranges_free (&ranges);
}

static void
says (const char *text, uint64_t size, const char *expected)
{
  says_as (CHANGES_ANY, text, size, expected);
}

/* ---- Random lists ---- */

static uint64_t
random_up_to (uint64_t most)
{
  static uint64_t state = 1;

  state = state * 6364136223846793005 + 1442695040888963407;
  return (state >> 20) % (most + 1);
}

/* Fill LIST with sorted ranges that do not overlap, but can be adjacent.
 * Returns their number.
 */
static size_t
random_ranges (struct ranges_item list[8], uint64_t size)
{
  size_t count = 0, most = random_up_to (8);
  uint64_t at = 0;

  while (count < most && at < size) {
    at += random_up_to (3) == 0 ? 0 : random_up_to (size - at - 1);
    list[count].start = at;
    list[count].len = 1 + random_up_to (size - at - 1);
    at += list[count++].len;
  }
  return count;
}

static void
print_blksum (FILE *out, const struct ranges_item *list, size_t count,
              uint64_t size)
{
  (void) size;
  fputc ('[', out);
  for (size_t i = 0; i < count; i++)
    fprintf (out, "%s{\"start\": %" PRIu64 ", \"length\": %" PRIu64 "}",
             i > 0 ? ", " : "", list[i].start, list[i].len);
  fputs ("]\n", out);
}

static void
print_rbd (FILE *out, const struct ranges_item *list, size_t count,
           uint64_t size)
{
  (void) size;
  fputc ('[', out);
  for (size_t i = 0; i < count; i++)
    fprintf (out, "%s{\"offset\":%" PRIu64 ",\"length\":%" PRIu64
             ",\"exists\":\"%s\"}", i > 0 ? "," : "", list[i].start,
             list[i].len, random_up_to (1) ? "true" : "false");
  fputc (']', out);
}

static void
print_nbdinfo (FILE *out, const struct ranges_item *list, size_t count,
               uint64_t size)
{
  uint64_t end = 0;
  const char *comma = "";

  fputs ("[\n", out);
  for (size_t i = 0; i <= count; i++) {
    uint64_t start = i < count ? list[i].start : size;

    if (start > end) {
      fprintf (out, "%s{ \"offset\": %" PRIu64 ", \"length\": %" PRIu64
               ", \"type\": 0, \"description\": \"clean\" }", comma, end,
               start - end);
      comma = ",\n";
    }
    if (i < count) {
      fprintf (out, "%s{ \"offset\": %" PRIu64 ", \"length\": %" PRIu64
               ", \"type\": 1, \"description\": \"dirty\" }", comma, start,
               list[i].len);
      comma = ",\n";
      end = start + list[i].len;
    }
  }
  fputs ("\n]\n", out);
}

/* Print replies of VMware.  Each ends where a range begins, or at the end of
 * the image.
 */
static void
print_replies (FILE *out, const struct ranges_item *list, size_t count,
               uint64_t size, const char *comma)
{
  uint64_t start = 0, end;
  size_t i = 0;

  while (start < size || (size == 0 && start == 0)) {
    size_t last = i + random_up_to (count - i);
    bool sorted_keys = random_up_to (1);

    end = last == count ? size : list[last].start;
    if (end == start)
      continue;
    fprintf (out, "%s{\"_typeName\":\"DiskChangeInfo\",", start ? comma : "");
    if (!sorted_keys)
      fprintf (out, "\"startOffset\":%" PRIu64 ",\"length\":%" PRIu64 ",",
               start, end - start);
    fputs ("\"changedArea\":[", out);
    for (size_t first = i; i < last; i++)
      fprintf (out, "%s{%s\"start\":%" PRIu64 ",\"length\":%" PRIu64 "}",
               i > first ? "," : "",
               random_up_to (1) ? "\"_typeName\":\"DiskChangeExtent\"," : "",
               list[i].start, list[i].len);
    fputc (']', out);
    if (sorted_keys)
      fprintf (out, ",\"length\":%" PRIu64 ",\"startOffset\":%" PRIu64,
               end - start, start);
    fputc ('}', out);
    start = end;
  }
}

static void
print_vmware (FILE *out, const struct ranges_item *list, size_t count,
              uint64_t size)
{
  fputc ('[', out);
  print_replies (out, list, count, size, ",");
  fputc (']', out);
}

static void
print_vmware_appended (FILE *out, const struct ranges_item *list, size_t count,
                       uint64_t size)
{
  print_replies (out, list, count, size, "\n");
}

static void
print_kubernetes (FILE *out, const struct ranges_item *list, size_t count,
                  uint64_t size)
{
  size_t i = 0;
  const char *comma = "[";

  while (i < count) {
    size_t first = i, last = i + random_up_to (count - i);

    fprintf (out, "%s{\"block_metadata_type\":%d,\"volume_capacity_bytes\":%"
             PRIu64 ",\"block_metadata\":%s", comma,
             1 + (int) random_up_to (1), size, last > first ? "[" : "null}");
    comma = ",";
    if (last == first)
      continue;
    for (; i < last; i++) {
      fprintf (out, "%s{", i > first ? "," : "");
      if (list[i].start > 0)
        fprintf (out, "\"byte_offset\":%" PRIu64 ",", list[i].start);
      fprintf (out, "\"size_bytes\":%" PRIu64 "}", list[i].len);
    }
    fputs ("]}", out);
  }
  fputs (count > 0 ? "]" : "[]", out);
}

static void
print_ddrescue (FILE *out, const struct ranges_item *list, size_t count,
                uint64_t size)
{
  uint64_t end = 0;

  fputs ("# Mapfile. Created by a test\n# current_pos  current_status  "
         "current_pass\n0x00000000     ?               1\n\n", out);
  for (size_t i = 0; i <= count; i++) {
    uint64_t start = i < count ? list[i].start : size;

    if (start > end)
      fprintf (out, random_up_to (1) ? "0x%08" PRIX64 "  0x%08" PRIX64 "  ?\n"
               : "0x%" PRIx64 "\t0x%" PRIx64 " ? # the rest\n", end,
               start - end);
    if (i < count) {
      fprintf (out, random_up_to (1) ? "0x%08" PRIX64 "  0x%08" PRIX64 "  +\n"
               : "%" PRIu64 " 0%" PRIo64 " +\n", start, list[i].len);
      end = start + list[i].len;
    }
  }
}

static const struct {
  enum changes_format format;
  void (*print) (FILE *out, const struct ranges_item *list, size_t count,
                 uint64_t size);
} formats[] = {
  { CHANGES_BLKSUM, print_blksum }, { CHANGES_NBDINFO, print_nbdinfo },
  { CHANGES_RBD, print_rbd }, { CHANGES_VMWARE, print_vmware },
  { CHANGES_VMWARE, print_vmware_appended },
  { CHANGES_KUBERNETES, print_kubernetes },
  { CHANGES_DDRESCUE, print_ddrescue },
};
#define NR_FORMATS (sizeof formats / sizeof *formats)

static void
check_list (size_t i, const struct ranges_item *list, size_t count,
            uint64_t size)
{
  enum changes_format any =
    formats[i].format == CHANGES_DDRESCUE ? CHANGES_DDRESCUE : CHANGES_ANY;
  struct ranges expected = { 0 }, got;
  struct error error;
  char *text;
  size_t len, cut;
  FILE *out = open_memstream (&text, &len);

  assert_non_null (out);
  formats[i].print (out, list, count, size);
  assert_int_equal (fclose (out), 0);
  for (size_t j = 0; j < count; j++)
    assert_int_equal (ranges_add (&expected, list[j].start, list[j].len), 0);
  ranges_sort (&expected);
  if (read_bytes (any, text, len, size, &got, &error) == -1)
    fail_msg ("%s: %s", text, error.text);
  assert_same (&got, &expected);
  ranges_free (&got);
  assert_int_equal (read_bytes (formats[i].format, text, len, size, &got,
                                &error), 0);
  assert_same (&got, &expected);
  ranges_free (&got);
  /* A truncation without an error removed only white space or a comment. */
  for (cut = 0; cut < len; cut++)
    if (read_bytes (any, text, cut, size, &got, &error) == 0) {
      assert_same (&got, &expected);
      ranges_free (&got);
      assert_true (len - cut < 14);
    }
  /* If the user requests another format, a list that has ranges is refused. */
  for (size_t j = 0; j < NR_FORMATS; j++)
    if (formats[j].format != formats[i].format && count > 0)
      assert_int_equal (read_bytes (formats[j].format, text, len, size, &got,
                                    &error), -1);
  ranges_free (&expected);
  free (text);
}

static void
test_random (void **state)
{
  (void) state;
  for (int round = 0; round < 100; round++)
    for (size_t i = 0; i < NR_FORMATS; i++) {
      struct ranges_item list[8];
      uint64_t size = 1 + random_up_to (round % 2 ? 100 : (uint64_t) 1 << 43);

      check_list (i, list, random_ranges (list, size), size);
    }
}

/* ---- Each format ---- */

static void
test_rbd (void **state)
{
  (void) state;
  says ("[{\"offset\":0,\"length\":4194304,\"exists\":\"true\"},"
        "{\"offset\":8388608,\"length\":4194304,\"exists\":\"false\"}]",
        1 << 24, "0+4194304 8388608+4194304");
  says_as (CHANGES_RBD, "[]", 10, "");
  refuses ("[{\"offset\":0,\"length\":1,\"exists\":\"yes\"}]", 10,
           "has 'yes' for 'exists'");
  refuses ("[{\"offset\":0,\"length\":1,\"exists\":true}]", 10,
           "range 1 has an unexpected 't'");
  refuses ("[{\"offset\":0,\"length\":0,\"exists\":\"true\"}]", 10,
           "has length 0");
  refuses ("[{\"offset\":5,\"length\":2,\"exists\":\"true\"},"
           "{\"offset\":6,\"length\":2,\"exists\":\"true\"}]", 10,
           "range 2 begins at 6, before 7, where the previous range ends");
  refuses ("[{\"offset\":5,\"length\":2,\"exists\":\"true\"},"
           "{\"offset\":0,\"length\":2,\"exists\":\"true\"}]", 10,
           "range 2 begins at 0, before 7");
  refuses ("[{\"offset\":5,\"length\":6,\"exists\":\"true\"}]", 10,
           "ends after the image");
  refuses ("[{\"offset\":5,\"length\":6,\"length\":5,\"exists\":\"true\"}]",
           10, "has 'length' twice");
  refuses ("[{\"offset\":-1,\"length\":6,\"exists\":\"true\"}]", 10,
           "instead of an integer");
  refuses ("[{\"offset\":0,\"length\":1,\"exists\":\"true\"}]]", 10,
           "trailing data");
  refuses ("[{\"offset\":0,\"length\":1,\"exists\":\"true\",\"type\":1}]", 10,
           "and nothing else");
  refuses ("{\"offset\":0,\"length\":1,\"exists\":\"true\"}", 10,
           "is not in a list");
  refuses ("Offset Length Type\n0 4194304 data\n", 1 << 24,
           "it is not a list of ranges in JSON");
  refuses_as (CHANGES_RBD, "[{\"start\": 0, \"length\": 1}]", 10,
              "range 1 is of the format blksum, not rbd");
}

#define REPLY(start, length, areas) \
  "{\"startOffset\":" #start ",\"length\":" #length ",\"changedArea\":[" \
  areas "]}"

static void
test_vmware (void **state)
{
  (void) state;
  says (REPLY (0, 10, ""), 10, "");
  says ("[" REPLY (0, 10, "{\"start\":2,\"length\":3}") "]", 10, "2+3");
  says (REPLY (0, 4, "{\"start\":2,\"length\":2}") "\n"
        REPLY (4, 6, "{\"start\":4,\"length\":1},{\"start\":9,\"length\":1}"),
        10, "2+3 9+1");
  refuses (REPLY (0, 9, ""), 10, "it ends at 9 of the 10 bytes");
  refuses ("[" REPLY (0, 9, "") "]", 10, "it ends at 9 of the 10 bytes");
  refuses (REPLY (1, 9, ""), 10, "range 1 begins at 1 instead of 0");
  refuses (REPLY (0, 11, ""), 10, "ends after the image");
  refuses (REPLY (0, 5, "") REPLY (6, 4, ""), 10, "begins at 6 instead of 5");
  refuses (REPLY (0, 5, "") REPLY (4, 6, ""), 10, "begins at 4 instead of 5");
  refuses (REPLY (0, 5, "") REPLY (0, 5, ""), 10, "begins at 0 instead of 5");
  refuses (REPLY (0, 10, "") REPLY (0, 10, ""), 10, "instead of 10");
  refuses (REPLY (0, 0, "") REPLY (0, 10, ""), 10, "has length 0");
  refuses_as (CHANGES_VMWARE, "[]", 10, "it ends at 0 of the 10 bytes");
  refuses_as (CHANGES_NBDINFO, "[]", 10, "it ends at 0 of the 10 bytes");
}

static void
test_vmware_areas (void **state)
{
  (void) state;
  refuses (REPLY (0, 5, "{\"start\":4,\"length\":2}") REPLY (5, 5, ""), 10,
           "range 1 has a changed area outside of the 5 bytes at 0");
  refuses (REPLY (0, 5, "") REPLY (5, 5, "{\"start\":4,\"length\":2}"), 10,
           "range 2 has a changed area outside of the 5 bytes at 5");
  refuses (REPLY (0, 10, "{\"start\":4,\"length\":2},"
                  "{\"start\":5,\"length\":2}"), 10,
           "range 2 of object 1 begins at 5, before 6");
  refuses (REPLY (0, 10, "{\"start\":4,\"length\":0}"), 10,
           "range 1 of object 1 has length 0");
  refuses (REPLY (0, 10, "{\"start\":4,\"length\":7}"), 10,
           "range 1 of object 1 of 7 bytes at 4 ends after the image");
  refuses (REPLY (0, 10, "{\"start\":4}"), 10, "must have 'start' and");
  refuses (REPLY (0, 10, "{\"start\":4,\"start\":4,\"length\":1}"), 10,
           "range 1 of object 1 has 'start' twice");
  refuses (REPLY (0, 10, "{\"offset\":4,\"length\":1}"), 10,
           "has an unknown member 'offset'");
  refuses (REPLY (0, 10, "{\"start\":4,\"length\":1}x"), 10, "unexpected 'x'");
  refuses (REPLY (0, 10, "{\"start\":4,\"length\":1},"), 10, "unexpected ']'");
  refuses (REPLY (0, 10, "[]"), 10, "unexpected '['");
  refuses (REPLY (0, 10, "{\"start\":NaN,\"length\":1}"), 10,
           "unexpected 'N'");
  refuses (REPLY (0, 10, "{\"start\":18446744073709551616,\"length\":1}"), 10,
           "instead of an integer");
  says ("{\"startOffset\":0,\"length\":10}", 10, "");
  refuses ("{\"startOffset\":0,\"changedArea\":[]}", 10, "another list");
  refuses ("{\"length\":10,\"changedArea\":[]}", 10, "another list");
  refuses ("{\"startOffset\":0,\"length\":10,\"changedArea\":null}", 10,
           "unexpected 'n'");
  refuses ("{\"startOffset\":0,\"length\":10,\"changedArea\":[],"
           "\"changedArea\":[]}", 10, "has 'changedArea' twice");
  refuses ("{\"_typeName\":\"X\",\"startOffset\":0,\"length\":10,"
           "\"changedArea\":[]}", 10, "has the type 'X'");
  refuses (REPLY (0, 10, "") "x", 10, "unexpected 'x'");
  refuses (REPLY (0, 5, "") "," REPLY (5, 5, ""), 10, "unexpected ','");
}

#define RECORD(capacity, blocks) \
  "{\"block_metadata_type\":1,\"volume_capacity_bytes\":" #capacity \
  ",\"block_metadata\":" blocks "}"

/* The first list is from the tests of snapshot-metadata-lister. */
static void
test_kubernetes (void **state)
{
  (void) state;
  says ("[{\"block_metadata_type\":1,\"volume_capacity_bytes\":100000,"
        "\"block_metadata\":[{\"size_bytes\":1000},{\"byte_offset\":5000,"
        "\"size_bytes\":1000}]}]", 100000, "0+1000 5000+1000");
  says ("[" RECORD (10, "null") "," RECORD (10, "[]") "]", 10, "");
  says_as (CHANGES_KUBERNETES, "[]", 10, "");
  refuses ("[" RECORD (11, "[]") "]", 10,
           "range 1 is of a volume of 11 bytes, and the image has 10");
  refuses ("[" RECORD (10, "[]") "," RECORD (9, "[]") "]", 10,
           "range 2 is of a volume of 9 bytes");
  refuses ("[" RECORD (10, "[{\"byte_offset\":3,\"size_bytes\":2}]") ","
           RECORD (10, "[{\"size_bytes\":2}]") "]", 10,
           "range 1 of object 2 begins at 0, before 5");
  refuses ("[" RECORD (10, "[{\"byte_offset\":3}]") "]", 10, "has length 0");
  refuses ("[" RECORD (10, "[{\"byte_offset\":3,\"size_bytes\":8}]") "]", 10,
           "ends after the image");
  refuses ("[" RECORD (10, "[{\"byte_offset\":3,\"size_bytes\":1,"
                       "\"start\":1}]") "]", 10, "unknown member 'start'");
  refuses ("[" RECORD (10, "nul") "]", 10, "unexpected '}'");
  refuses ("[" RECORD (10, "[]") "", 10, "is truncated");
  refuses ("[" RECORD (10, "[]") ",", 10, "is truncated");
  refuses (RECORD (10, "[]"), 10, "is not in a list");
  refuses ("[{\"block_metadata_type\":0,\"volume_capacity_bytes\":10,"
           "\"block_metadata\":[]}]", 10, "has the block_metadata_type 0");
  refuses ("Record#   VolCapBytes  BlockMetadataType   ByteOffset     "
           "SizeBytes\n", 10, "it is not a list of ranges in JSON");
}

#define STATUS "0x0 + 1\n"

static void
test_ddrescue (void **state)
{
  static const struct {
    const char *text, *expected;
  } wrong[] = {
    { "", "it has no status line" },
    { "# Mapfile. Created by blksum\n0x00000000", "line 2 is not the status" },
    { "0x0 +\n0 10 +\n", "line 1 is not the status line" },
    { "0x0 x 1\n0 10 +\n", "line 1 is not the status line" },
    { "[{\"start\": 0, \"length\": 1}]\n", "line 1 is not the status line" },
    { STATUS, "it ends at 0 of the 10 bytes" },
    { STATUS "0 9 +\n", "it ends at 9 of the 10 bytes" },
    { STATUS "0 11 +\n", "line 2 ends after the image" },
    { STATUS "0 10 ?\n10 18446744073709551615 +", "line 3 ends after" },
    { STATUS "0 18446744073709551616 +\n", "line 2 is not a range" },
    { STATUS "1 9 +\n", "line 2 begins at 1 instead of 0: " },
    { STATUS "0 5 +\n4 6 +\n", "line 3 begins at 4 instead of 5: " },
    { STATUS "5 5 +\n0 5 +\n", "line 2 begins at 5 instead of 0: " },
    { STATUS "0 0 +\n0 10 +\n", "line 2 has length 0" },
    { STATUS "0 10 -\n", "line 2 has a status that is neither" },
    { STATUS "0 10 *\n", "line 2 has a status that is neither" },
    { STATUS "0 10 /\n", "line 2 has a status that is neither" },
    { STATUS "0 10 ++\n", "line 2 has a status that is neither" },
    { STATUS "0 10\n", "line 2 is not a range" },
    { STATUS "0 10 + +\n", "line 2 is not a range" },
    { STATUS "-0 10 +\n", "line 2 is not a range" },
    { STATUS "0 +10 +\n", "line 2 is not a range" },
    { STATUS "0 1e1 +\n", "line 2 is not a range" },
    { STATUS "0 0x +\n", "line 2 is not a range" },
    { STATUS "0 012 +\n0 08 +\n", "line 3 is not a range" },
    { STATUS "0 10 +\r\n", "line 2 has a status that is neither" },
    { STATUS "0 10 +#\n", "line 2 has a status that is neither" },
  };
  struct ranges ranges;
  struct error error;
  char text[400];

  (void) state;
  says_as (CHANGES_DDRESCUE, "# x\n 0x5 ? 2 # y\n\n  #\n0 5 ?\n5\t0x5 +", 10,
           "5+5");
  says_as (CHANGES_DDRESCUE, STATUS, 0, "");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refuses_as (CHANGES_DDRESCUE, wrong[i].text, 10, wrong[i].expected);
  /* A comment line can be long, other lines cannot.  A NUL is an error. */
  snprintf (text, sizeof text, "#%300d\n%s0 10 +", 0, STATUS);
  says_as (CHANGES_DDRESCUE, text, 10, "0+10");
  snprintf (text, sizeof text, "%s0 10%300s+\n", STATUS, "");
  refuses_as (CHANGES_DDRESCUE, text, 10, "line 2 is too long");
  assert_int_equal (read_bytes (CHANGES_DDRESCUE, "0 + 1\n0 10 \0+", 13, 10,
                                &ranges, &error), -1);
  assert_non_null (strstr (error.text, "line 2 has a NUL"));
  /* A mapfile is not recognized without its option. */
  refuses ("# Mapfile.\n0 + 1\n0 10 +\n", 10, "--changed-format=ddrescue");
  refuses ("0 + 1\n0 10 +\n", 10, "it is not a list of ranges in JSON");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_rbd),
    cmocka_unit_test (test_vmware),
    cmocka_unit_test (test_vmware_areas),
    cmocka_unit_test (test_kubernetes),
    cmocka_unit_test (test_ddrescue),
  };

  fd = memfd_create ("list", MFD_CLOEXEC);
  if (fd == -1)
    return 1;
  snprintf (path, sizeof path, "/dev/fd/%d", fd);
  return cmocka_run_group_tests (tests, NULL, NULL);
}

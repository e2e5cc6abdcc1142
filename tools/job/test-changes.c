/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: which lists of changed ranges are read, and which are refused.
 * Random lists are read completely, and a list that is truncated at any byte is
 * either refused or read completely.  The sum in the name of a dirty bitmap is
 * checked.
 */

#include <config.h>

#include <errno.h>
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

#include "job/changes.h"
#include "util/error.h"
#include "util/ranges.h"

static int fd;                  /* a list in memory; PATH is its name */
static char path[32];

/* The lines of a mapfile before its ranges, and a range. */
#define MAPFILE "# Mapfile. Created by blkhash\n" REST
#define REST "# current_pos  current_status  current_pass\n" \
  "0x00000000     +               1\n#      pos        size  status\n"
#define ROW(start, len, status) \
  "0x0000000" start "  0x0000000" len "  " status "\n"

static void
write_list (const char *text, size_t len)
{
  assert_int_equal (ftruncate (fd, 0), 0);
  assert_int_equal (pwrite (fd, text, len, 0), len);
}

/* Check that the changed ranges in TEXT, a list for an image of SIZE bytes, are
 * EXPECTED, as "START+LENGTH ...".
 */
static void
says (const char *text, uint64_t size, const char *expected)
{
  struct error error = { "" };
  struct ranges ranges = { 0 };
  char got[256] = "";
  int r;

  write_list (text, strlen (text));
  r = changes_read (path, size, &ranges, &error);
  assert_string_equal (error.text, "");
  assert_int_equal (r, 0);
  for (size_t i = 0; i < ranges.count; i++)
    sprintf (got + strlen (got), "%s%ju+%ju", i > 0 ? " " : "",
             (uintmax_t) ranges.items[i].start,
             (uintmax_t) ranges.items[i].len);
  assert_string_equal (got, expected);
  ranges_free (&ranges);
}

/* Check that the first LEN bytes of TEXT are refused, with an error that
 * contains EXPECTED.
 */
static void
refuses_bytes (const char *text, size_t len, uint64_t size,
               const char *expected)
{
  struct error error = { "" };
  struct ranges ranges = { 0 };

  write_list (text, len);
  assert_int_equal (changes_read (path, size, &ranges, &error), -1);
  assert_int_equal (ranges.count, 0);
  assert_null (ranges.items);
  if (!strstr (error.text, expected) || !strstr (error.text, path))
    fail_msg ("%.*s: '%s' is not in: %s", (int) len, text, expected,
              error.text);
}

static void
refuses (const char *text, uint64_t size, const char *expected)
{
  refuses_bytes (text, strlen (text), size, expected);
}

/* The end of an object of blkhash compare after its ranges. */
#define END(compared, result) \
  "],\"images\":[{\"name\":\"a\",\"size\":10},{\"name\":\"b\",\"size\":9}]," \
  "\"compared-bytes\":" compared ",\"result\":\"" result "\"}\n"
#define RANGE(start, len) \
  "{\"start\":" start ",\"length\":" len ",\"result\":\"differs\"}"
#define COMPARED(ranges, size) "{\"ranges\":[" ranges END (size, "differs")

static void
test_compared (void **state)
{
  (void) state;
  says (COMPARED (RANGE ("0", "65536"), "65536"), 65536, "0+65536");
  says (COMPARED (RANGE ("8", "2") "," RANGE ("1", "3"), "10"), 10, "1+3 8+2");
  says (COMPARED (RANGE ("4", "4") ", " RANGE ("0", "4"), "10"), 10, "0+8");
  says (COMPARED (RANGE ("0", "5") "," RANGE ("2", "6"), "8"), 8, "0+8");
  says (COMPARED (RANGE ("18446744073709551613", "1"), "18446744073709551614"),
        UINT64_MAX - 1, "18446744073709551613+1");
  says ("{\"ranges\":[" END ("10", "ok"), 10, "");
  says ("{\"ranges\":[" END ("0", "ok"), 0, "");
  /* Members in any order, and white space; a part that is all. */
  says (" {\r\n\"result\": \"differs\" ,\t\"part\": \"0/1\", \"compared-bytes\""
        " : 3,\n\"images\": [ ], \"ranges\" : [ { \"result\": \"differs\", "
        "\"length\" : 2 ,\t\"start\" :1 } ] }\n\n", 3, "1+2");
  /* Names can be of any length, and have any characters. */
  says ("{\"images\":[{\"name\":\"]}\\\"\\\\\\n\\u007f,{\xc3\xa4"
        "01234567890123456789012345678901234567890123456789\\\\\",\"size\":1}],"
        "\"ranges\":[],\"compared-bytes\":1,\"result\":\"ok\"}", 1, "");
}

static void
test_comparisons (void **state)
{
  (void) state;
  /* Only a comparison of the whole image says what has changed. */
  refuses (COMPARED (RANGE ("0", "5"), "9"), 10, "9 bytes were compared, and "
           "the image has 10: only");
  refuses (COMPARED (RANGE ("0", "5"), "11"), 10, "11 bytes were compared");
  refuses ("{\"ranges\":[" END ("0", "differs"), 10, "it has no ranges, and "
           "the result 'differs'");
  refuses ("{\"ranges\":[],\"images\":[],\"part\":\"1/2\",\"compared-bytes\":5,"
           "\"result\":\"ok\"}", 10, "5 bytes were compared");
  refuses ("{\"ranges\":[" RANGE ("0", "5") END ("10", "ok"), 10,
           "it has ranges, and the result 'ok'");
  refuses ("{\"ranges\":[" END ("10", "unknown"), 10, "the result 'unknown'");
  refuses ("{\"ranges\":[{\"start\":0,\"length\":1,\"result\":\"ok\"}"
           END ("10", "ok"), 10, "range 1 has the result 'ok'");
  refuses ("{\"name\":\"a\",\"error\":\"cannot open\",\"result\":\"unknown\"}",
           10, "has an unknown member 'error'");
  refuses ("{\"ranges\":[],\"images\":[],\"compared-bytes\":10}", 10,
           "must have 'ranges', 'images', 'compared-bytes' and 'result', as "
           "'blkhash compare --output=json' prints them");
  refuses ("{\"ranges\":[],\"compared-bytes\":10,\"result\":\"ok\"}", 10,
           "must have");
  refuses ("{\"images\":[],\"compared-bytes\":10,\"result\":\"ok\"}", 10,
           "must have");
  refuses ("{\"ranges\":[],\"images\":[],\"result\":\"ok\"}", 10, "must have");
  refuses ("{\"ranges\":[],\"ranges\":[]}", 10, "has 'ranges' twice");
  refuses ("{\"ranges\":[{\"ranges\":[]}]}", 10, "range 1 must have 'start'");
  refuses ("{\"ranges\":[{\"offset\":0,\"length\":10,\"type\":1}]}", 10,
           "range 1 must have 'start', 'length' and 'result', and nothing");
  refuses ("{\"images\":[{\"name\":\"a\"}]}", 10,
           "must have 'name' and 'size'");
  refuses ("{\"images\":[{\"name\":\"a\",\"size\":\"10\"}]}", 10, "unexpected");
  refuses ("{\"images\":[{\"name\":\"a\nb\",\"size\":10}]}", 10,
           "has an unexpected byte 10");
  refuses ("{\"ranges\":{}}", 10, "has an unexpected '{'");
  refuses ("{\"start\": 0, \"length\": 10}", 10, "must have 'ranges'");
  refuses ("{}", 10, "must have 'ranges'");
  refuses ("{\"size\": 10, \"differences\": []}", 10,
           "has an unknown member 'differences'; blkhash-update(1) says which");
}

/* A dirty bitmap as nbdinfo of libnbd 1.14 prints it. */
static const char rows[] =
  "[\n"
  "{ \"offset\": 0, \"length\": 1048576, \"type\": 0, \"description\": "
    "\"clean\"},\n"
  "{ \"offset\": 1048576, \"length\": 3145728, \"type\": 1, "
    "\"description\": \"dirty\"},\n"
  "{ \"offset\": 4194304, \"length\": 62914560, \"type\": 0, "
    "\"description\": \"clean\"}\n"
  "]\n";

static void
test_rows (void **state)
{
  (void) state;
  says (rows, 64 << 20, "1048576+3145728");
  says ("[{\"offset\": 0, \"length\": 10, \"type\": 0}]", 10, "");
  says ("[{\"offset\": 0, \"length\": 5, \"type\": 2},"
        "{\"offset\": 5, \"length\": 5, \"type\": 18446744073709551615}]", 10,
        "5+5");
  /* The objects must cover the image, in order. */
  refuses (rows, (64 << 20) + 512, "it ends at 67108864 of the 67109376 bytes "
           "of the image: it is truncated, or of another disk");
  refuses (rows, (64 << 20) - 512, "range 3 of 62914560 bytes at 4194304 ends "
           "after the image, which has 67108352 bytes");
  says (" [ ] \n", 0, "");
  refuses ("[]", 10, "it ends at 0 of the 10 bytes of the image");
  refuses ("[{\"offset\": 1, \"length\": 9, \"type\": 0}]", 10,
           "range 1 begins at 1 instead of 0: there");
  refuses ("[{\"offset\": 0, \"length\": 5, \"type\": 0},"
           "{\"offset\": 6, \"length\": 4, \"type\": 0}]", 10,
           "range 2 begins at 6 instead of 5: there must be no gap or overlap");
  refuses ("[{\"offset\": 0, \"length\": 5, \"type\": 0},"
           "{\"offset\": 4, \"length\": 6, \"type\": 0}]", 10,
           "instead of 5");
  refuses ("[{\"offset\": 5, \"length\": 5, \"type\": 0},"
           "{\"offset\": 0, \"length\": 5, \"type\": 0}]", 10,
           "begins at 5 instead of 0");
}

/* Lists of other kinds, whose members do not say what has changed. */
static void
test_others (void **state)
{
  (void) state;
  refuses ("[{\"start\": 0, \"length\": 10, \"depth\": 0, \"present\": true, "
           "\"zero\": false, \"data\": true}]", 10, "range 1 has 'depth', as "
           "'qemu-img map' prints, where changed ranges have \"data\": false");
  refuses ("[{\"present\": true}]", 10, "qemu-img map");
  refuses ("[{\"start\": 0, \"length\": 10, \"data\": false}]", 10,
           "qemu-img map");
  refuses ("[{\"offset\": 0, \"length\": 10, \"type\": 3, \"description\": "
           "\"hole,zero\"}]", 10, "range 1 is 'hole,zero' with type 3, which "
           "no dirty bitmap has");
  refuses ("[{\"offset\": 0, \"length\": 10, \"type\": 0, \"description\": "
           "\"data\"}]", 10, "is 'data' with type 0");
  refuses ("[{\"offset\": 0, \"length\": 10, \"type\": 0, \"description\": "
           "\"dirty\"}]", 10, "is 'dirty' with type 0");
  refuses ("[{\"start\": 0, \"length\": 10, \"dirty\": true}]", 10,
           "range 1 has an unknown member 'dirty'");
  refuses ("[\n{ \"size\": 10, \"percent\": 100, \"type\": 0, "
           "\"description\": \"clean\" }\n]", 10,
           "range 1 has an unknown member 'percent'");
  refuses ("[{\"offset\":0,\"length\":1,\"exists\":\"true\"}]", 10,
           "range 1 has an unknown member 'exists'; blkhash-update(1) says");
  refuses ("65536 bytes at 0 differ\n", 65536, "it is not a list of ranges");
}

static void
test_members (void **state)
{
  static const char must[] = "range 1 must have 'offset', 'length' and 'type', "
    "as 'nbdinfo --json --map=qemu:dirty-bitmap:NAME URI' prints them, and";

  (void) state;
  refuses ("[{}]", 10, must);
  refuses ("[{\"offset\": 0}]", 10, must);
  refuses ("[{\"length\": 1}]", 10, must);
  refuses ("[{\"offset\": 0, \"length\": 10}]", 10, must);
  refuses ("[{\"start\": 0, \"length\": 10}]", 10, must);
  refuses ("[" RANGE ("0", "10") "]", 10, must);
  refuses ("[{\"start\": 0, \"offset\": 0, \"length\": 10, \"type\": 0}]", 10,
           must);
  refuses ("[{\"ranges\": []}]", 10, must);
  refuses ("[{\"offset\": 0, \"offset\": 4, \"length\": 1}]", 10,
           "range 1 has 'offset' twice");
}

static void
test_bounds (void **state)
{
  (void) state;
  refuses (COMPARED (RANGE ("0", "11"), "10"), 10, "range 1 of 11 bytes at 0 "
           "ends after the image, which has 10 bytes");
  refuses (COMPARED (RANGE ("0", "0"), "10"), 10, "range 1 has length 0");
  refuses (COMPARED (RANGE ("10", "1"), "10"), 10, "ends after the image");
  refuses (COMPARED (RANGE ("11", "1"), "10"), 10, "ends after the image");
  refuses (COMPARED (RANGE ("0", "1"), "0"), 0, "ends after the image");
  refuses (COMPARED (RANGE ("2", "18446744073709551615"), "10"), 10,
           "ends after the image");
  refuses (COMPARED (RANGE ("18446744073709551615", "2"), "10"), 10,
           "ends after the image");
}

static void
test_numbers (void **state)
{
  static const char *const wrong[] = {
    "-1", "-0", "+1", "1.0", "1.5", ".5", "1e1", "1E1", "01", "00", "1-1",
    "18446744073709551616", "18446744073709551617", "99999999999999999999999",
    "0000000000000000000000000000000000000000000000001", "-", "1.", "0e0",
  };
  static const char *const others[] = {
    "true", "null", "\"1\"", "{}", "[1]", "", "0x1", "1 0", "NaN", "'1'",
    "/**/1",
  };
  char text[128];
  size_t i;

  (void) state;
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf (text, sizeof text, "[{\"offset\": 0, \"length\": %s}]", wrong[i]);
    refuses (text, 10, "instead of an integer from 0 to 2^64 - 1");
  }
  for (i = 0; i < sizeof others / sizeof *others; i++) {
    snprintf (text, sizeof text, "[{\"offset\": %s, \"length\": 1}]",
              others[i]);
    refuses (text, 10, "range 1 has ");
  }
}

static void
test_syntax (void **state)
{
  static const char *const wrong[] = {
    "[{\"offset\": 0, \"length\": 10, \"type\": 0},]", "[,]",
    "[{\"offset\": 0, \"length\": 5, \"type\": 0} {\"offset\": 5}]",
    "{\"ranges\": [], \"images\": [] \"part\": \"\"}",
    "{\"ranges\": [], }", "{, \"ranges\": []}", "{\"ranges\": [,]}",
    "[{\"offset\": 0, \"length\": 1,}]", "[{\"offset\" 0, \"length\": 1}]",
    "[{\"offset\": 0 \"length\": 1}]", "[{,\"offset\": 0, \"length\": 1}]",
    "[{offset: 0, length: 1}]", "[{'offset': 0, 'length': 1}]", "[[]]", "[1]",
    "[null]", "[}", "[{\"offset\": 0, \"length\": 1]",
    "[{\"st\\u0061rt\": 0, \"length\": 1}]", "[{\"\xc3\xa4\": 0}]",
    "[{\"0123456789012345678901234567890123456789\": 0}]", "[// x\n]",
  };
  static const char nul[] = "[{\"offset\": 0,\0 \"length\": 1}]";
  size_t i, len;

  (void) state;
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refuses (wrong[i], 10, "has ");
  refuses_bytes (nul, sizeof nul - 1, 10, "has an unexpected byte 0");
  refuses ("[]]", 0, "there is trailing data after the list");
  refuses ("[] []", 0, "there is trailing data after the list");
  refuses ("[{\"offset\": 0, \"length\": 1, \"type\": 0}]x", 1,
           "there is trailing data");
  refuses ("{\"ranges\":[" END ("10", "ok") "{", 10, "there is trailing data");
  refuses ("\xef\xbb\xbf[]", 10, "it is not a list of ranges");
  refuses ("", 10, "it is empty");
  refuses (" \n", 10, "it is empty");
  /* A list that is truncated after any byte. */
  for (len = 1; len < strlen (rows) - 2; len++)
    refuses_bytes (rows, len, 64 << 20, "is truncated: the list has no end");
}

static void
test_files (void **state)
{
  struct error error = { "" }, missing = { "" };
  struct ranges ranges = { 0 };

  (void) state;
  assert_int_equal (changes_read ("/dev/zero", 10, &ranges, &error), -1);
  assert_string_equal (error.text,
                       "'/dev/zero': it is not a file or a pipe");
  assert_int_equal (changes_read ("/dev/null/x", 10, &ranges, &missing), -1);
  assert_non_null (strstr (missing.text, "cannot open: Not a directory"));
}

/* A stream that fails with EIO after the text in OPAQUE. */
static ssize_t
read_then_fail (void *opaque, char *buf, size_t size)
{
  const char **text = opaque;
  size_t len = strlen (*text);

  if (len == 0) {
    errno = EIO;
    return -1;
  }
  assert_true (len <= size);
  memcpy (buf, *text, len);
  *text += len;
  return len;
}

/* The ranges of a list are added to those of the lists before. */
static void
test_union (void **state)
{
  static const struct ranges_item expected[] = { { 1, 5 }, { 8, 2 } };
  static const char first[] = COMPARED (RANGE ("1", "2") "," RANGE ("8", "1"),
                                        "10");
  static const char second[] = MAPFILE ROW ("0", "2", "?") ROW ("2", "4", "+")
    ROW ("6", "3", "?") ROW ("9", "1", "+");
  struct error error = { "" };
  struct ranges ranges = { 0 };

  (void) state;
  write_list (first, strlen (first));
  assert_int_equal (changes_read (path, 10, &ranges, &error), 0);
  write_list (second, strlen (second));
  assert_int_equal (changes_read (path, 10, &ranges, &error), 0);
  assert_int_equal (ranges.count, 2);
  assert_memory_equal (ranges.items, expected, sizeof expected);
  /* If one is refused, none is used. */
  write_list ("[]", 2);
  assert_int_equal (changes_read (path, 10, &ranges, &error), -1);
  assert_int_equal (ranges.count, 0);
}

/* A read error has its own message after any byte, not that the list is wrong
 * or truncated.
 */
static void
check_read_error (const char *list)
{
  char start[256];
  size_t len;

  for (len = 0; len <= strlen (list); len++) {
    const char *text = start;
    FILE *in = fopencookie (&text, "r",
                            (cookie_io_functions_t) { .read = read_then_fail });
    struct error error = { "" };
    struct ranges ranges = { 0 };

    assert_non_null (in);
    snprintf (start, sizeof start, "%.*s", (int) len, list);
    assert_int_equal (changes_read_stream (in, path, 64 << 20, &ranges,
                                           &error), -1);
    if (!strstr (error.text, "cannot read: Input/output error"))
      fail_msg ("after '%s': %s", start, error.text);
    ranges_free (&ranges);
    fclose (in);
  }
}

static void
test_read_error (void **state)
{
  (void) state;
  check_read_error (rows);
  check_read_error (COMPARED (RANGE ("0", "4"), "67108864"));
  check_read_error (MAPFILE ROW ("0", "4", "+"));
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
print_compared (FILE *out, const struct ranges_item *list, size_t count,
                uint64_t size)
{
  fputs ("{\"ranges\":[", out);
  for (size_t i = 0; i < count; i++)
    fprintf (out, "%s{\"start\":%" PRIu64 ",\"length\":%" PRIu64
             ",\"result\":\"differs\"}", i > 0 ? "," : "", list[i].start,
             list[i].len);
  fprintf (out, "],\"images\":[{\"name\":\"a \\\"]}\",\"size\":%" PRIu64
           "}],\"compared-bytes\":%" PRIu64 ",\"result\":\"%s\"}\n", size, size,
           count > 0 ? "differs" : "ok");
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

static void
print_mapfile (FILE *out, const struct ranges_item *list, size_t count,
               uint64_t size)
{
  uint64_t end = 0;

  fputs (MAPFILE, out);
  for (size_t i = 0; i <= count; i++) {
    uint64_t start = i < count ? list[i].start : size;

    if (start > end)
      fprintf (out, "0x%08" PRIX64 "  0x%08" PRIX64 "  ?\n", end, start - end);
    if (i < count) {
      end = start + list[i].len;
      fprintf (out, "0x%08" PRIX64 "  0x%08" PRIX64 "  +\n", start,
               list[i].len);
    }
  }
}

typedef void print_function (FILE *out, const struct ranges_item *list,
                             size_t count, uint64_t size);

static void
check_list (print_function *print, const struct ranges_item *list, size_t count,
            uint64_t size)
{
  struct ranges expected = { 0 };
  char *text;
  size_t len;
  FILE *out = open_memstream (&text, &len);

  assert_non_null (out);
  print (out, list, count, size);
  assert_int_equal (fclose (out), 0);
  for (size_t i = 0; i < count; i++)
    assert_int_equal (ranges_add (&expected, list[i].start, list[i].len), 0);
  ranges_sort (&expected);
  for (size_t cut = 0; cut <= len; cut++) {
    struct error error = { "" };
    struct ranges got = { 0 };

    write_list (text, cut);
    if (changes_read (path, size, &got, &error) == -1) {
      /* A truncation without an error removed only white space. */
      assert_true (cut < len);
      continue;
    }
    assert_true (len - cut < 2);
    assert_int_equal (got.count, expected.count);
    if (got.count > 0)
      assert_memory_equal (got.items, expected.items,
                           got.count * sizeof *got.items);
    ranges_free (&got);
  }
  ranges_free (&expected);
  free (text);
}

static void
test_random (void **state)
{
  static print_function *const print[] = {
    print_compared, print_nbdinfo, print_mapfile
  };

  (void) state;
  for (int round = 0; round < 100; round++)
    for (size_t i = 0; i < sizeof print / sizeof *print; i++) {
      struct ranges_item list[8];
      uint64_t size = 1 + random_up_to (round % 2 ? 100 : (uint64_t) 1 << 43);

      check_list (print[i], list, random_ranges (list, size), size);
    }
}

static void
test_mapfile (void **state)
{
  static const struct {
    const char *text, *expected;
  } wrong[] = {
    { "", "it ends at 0 of the 10 bytes" },
    { ROW ("0", "9", "+"), "it ends at 9 of the 10 bytes" },
    { ROW ("0", "B", "+"), "line 5 ends after the image" },
    { ROW ("0", "A", "?") "0x0000000A  0xFFFFFFFFFFFFFFFF  +\n",
      "line 6 ends after" },
    { "0x10000000000000000  0x0000000A  +\n", "line 5 is not a range" },
    { ROW ("1", "9", "+"), "line 5 begins at 1 instead of 0: " },
    { ROW ("0", "5", "+") ROW ("4", "6", "+"), "line 6 begins at 4 instead" },
    { ROW ("5", "5", "+") ROW ("0", "5", "+"), "line 5 begins at 5 instead" },
    { ROW ("0", "0", "+") ROW ("0", "A", "+"), "line 5 has length 0" },
    { ROW ("0", "A", "-"), "line 5 is not a range as blkhash prints it" },
    { ROW ("0", "A", "*"), "line 5 is not a range" },
    { ROW ("0", "A", ""), "line 5 is not a range" },
    { ROW ("0", "A", "+ "), "line 5 is not a range" },
    { ROW ("0", "A", "+\r"), "line 5 is not a range" },
    { ROW ("0", "a", "+"), "line 5 is not a range" },
    { "0 10 +\n", "line 5 is not a range" },
    { "-0x00000000  0x0000000A  +\n", "line 5 is not a range" },
    { "0x00000000  0x0000000A  +", "line 5 is not a range" },
    { "\n" ROW ("0", "A", "+"), "line 5 is not a range" },
    { "# x\n" ROW ("0", "A", "+"), "line 5 is not a range" },
    { MAPFILE ROW ("0", "A", "+"), "line 5 is not a range" },
  };
  static const char nul[] = MAPFILE "0x00000000  0x0000000A  \0+\n";
  char text[400];

  (void) state;
  says (MAPFILE ROW ("0", "5", "?") ROW ("5", "5", "+"), 10, "5+5");
  says (MAPFILE ROW ("0", "5", "+") ROW ("5", "5", "+"), 10, "0+10");
  says (MAPFILE, 0, "");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf (text, sizeof text, MAPFILE "%s", wrong[i].text);
    refuses (text, 10, wrong[i].expected);
  }
  snprintf (text, sizeof text, MAPFILE "0x%0200d", 0);
  refuses (text, 10, "line 5 is not a range");
  refuses_bytes (nul, sizeof nul - 1, 10, "line 5 is not a range");
  refuses_bytes (MAPFILE, 70, 10, "its header is not complete");
  /* Those that other programs create, or blkhash for a part. */
  refuses ("# Mapfile. Created by GNU ddrescue version 1.27\n0 + 1\n0 10 +\n",
           10, "in one of ddrescue '+' means copied, not changed, and the two "
           "cannot be told apart");
  refuses ("# Mapfile. Created by blksum\n" REST ROW ("0", "A", "+"), 10,
           "has created for the whole disk");
  refuses ("# Mapfile. Created by blkhash 1\n" REST ROW ("0", "A", "+"), 10,
           "has created for the whole disk");
  refuses ("# Mapfile. Created by blkhash, of a part\n" REST
           ROW ("0", "A", "?"), 10, "has created for the whole disk");
  refuses ("#", 10, "has created for the whole disk");
  refuses ("0 + 1\n0 10 +\n", 10, "it is not a list of ranges in JSON");
  /* What blkhash compare prints without --output. */
  refuses ("10 bytes at 0 differ\n", 10, "'blkhash compare --output=json'");
}

/* ---- The name of a dirty bitmap ---- */

static const char sum[] =
  "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

static void
name_is_taken (const char *name)
{
  struct error error = { "" };

  assert_int_equal (bitmap_name_check (name, sum, &error), 0);
  assert_string_equal (error.text, "");
}

static void
name_is_refused (const char *name)
{
  struct error error = { "" };

  assert_int_equal (bitmap_name_check (name, sum, &error), -1);
  assert_non_null (strstr (error.text, sum));
  assert_non_null (strstr (error.text, name));
}

static void
test_name_same (void **state)
{
  char name[80] = "blk-";

  (void) state;
  name_is_taken ("blk-5f70bf18");
  name_is_taken ("blk-5F70BF18A0");
  name_is_taken ("blk-5f70bf18.1");
  name_is_taken ("blk-5f70bf18-daily");
  name_is_taken (strcat (name, sum));
}

static void
test_name_other (void **state)
{
  char name[80] = "blk-";

  (void) state;
  name_is_refused ("blk-5f70bf19");
  name_is_refused ("blk-6f70bf18");
  name_is_refused ("blk-5f70bf18b");
  name_is_refused ("blk-00000000-daily");
  name_is_refused (strcat (strcat (name, sum), "0"));
}

/* Names that contain no sum are accepted. */
static void
test_name_none (void **state)
{
  (void) state;
  name_is_taken ("");
  name_is_taken ("b0");
  name_is_taken ("blk-");
  name_is_taken ("blk-0");
  name_is_taken ("blk-0000000");
  name_is_taken ("blk-00000000x");
  name_is_taken ("blk-deadbeefs");
  name_is_taken ("blk-/0000000000");
  name_is_taken ("BLK-00000000");
  name_is_taken ("xblk-00000000");
  name_is_taken ("00000000");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_compared),
    cmocka_unit_test (test_comparisons),
    cmocka_unit_test (test_union),
    cmocka_unit_test (test_rows),
    cmocka_unit_test (test_others),
    cmocka_unit_test (test_members),
    cmocka_unit_test (test_bounds),
    cmocka_unit_test (test_numbers),
    cmocka_unit_test (test_syntax),
    cmocka_unit_test (test_files),
    cmocka_unit_test (test_read_error),
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_mapfile),
    cmocka_unit_test (test_name_same),
    cmocka_unit_test (test_name_other),
    cmocka_unit_test (test_name_none),
  };

  fd = memfd_create ("list", MFD_CLOEXEC);
  if (fd == -1)
    return 1;
  snprintf (path, sizeof path, "/dev/fd/%d", fd);
  return cmocka_run_group_tests (tests, NULL, NULL);
}

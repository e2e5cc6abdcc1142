/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: for any extents, the ranges of the cursor cover the image once, in
 * order and in whole blocks, and a range is zero only if its extents are.  A
 * range of data has the place of each of its bytes.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "read/reader-ranges.h"
#include "util/error.h"

#define MAX_SIZE 2000
#define ROUNDS 20000

struct model {
  uint64_t size;
  bool zero[MAX_SIZE];          /* is the byte in a zero extent? */
  bool missing[MAX_SIZE];       /* is the byte missing? */
  struct place place[2][MAX_SIZE]; /* the places of the byte */
  bool longer;                  /* the last extent can end beyond the image */
  uint64_t last;                /* offset of the last query */
};

static unsigned seed = 1;

static unsigned
rnd (unsigned below)
{
  return rand_r (&seed) % below;
}

/* Are the byte at OFFSET and the next one in the same extent? */
static bool
extent_continues (const struct model *model, uint64_t offset)
{
  if (offset + 1 >= model->size ||
      model->zero[offset + 1] != model->zero[offset])
    return false;
  for (int i = 0; i < 2; i++) {
    const struct place *place = &model->place[i][offset];

    if (place[1].zero != place->zero || !place_continues (place, 1, place + 1))
      return false;
  }
  return true;
}

/* Find the extent at OFFSET.  Like a server, sometimes report only its first
 * part.
 */
static int
extent_at (void *opaque, uint64_t offset, struct extent *extent,
           struct error *error)
{
  struct model *model = opaque;
  uint64_t end = offset + 1;

  (void) error;
  assert_true (offset < model->size);
  assert_true (offset >= model->last);
  model->last = offset;
  extent->zero = model->zero[offset];
  for (int i = 0; i < 2; i++)
    extent->place[i] = model->place[i][offset];
  while (extent_continues (model, end - 1))
    end++;
  extent->len = end - offset;
  if (rnd (3) == 0)
    extent->len = 1 + rnd (extent->len);
  else if (end == model->size && model->longer)
    extent->len += 1000;
  return 0;
}

/* Find the next missing range, or sometimes only its first part. */
static int
missing_at (void *opaque, uint64_t offset, uint64_t *start, uint64_t *len,
            struct error *error)
{
  const struct model *model = opaque;
  uint64_t end;

  (void) error;
  while (offset < model->size && !model->missing[offset])
    offset++;
  if (offset >= model->size)
    return 0;
  for (end = offset; end < model->size && model->missing[end]; end++)
    ;
  *start = offset;
  *len = end - offset;
  if (rnd (3) == 0)
    *len = 1 + rnd (*len);
  return 1;
}

static void
fill_missing (struct model *model)
{
  uint64_t i = 0;
  bool missing = rnd (2);
  unsigned longest = 1 + rnd (rnd (2) ? 10 : MAX_SIZE);

  while (i < model->size) {
    uint64_t n = 1 + rnd (longest);

    for (; n > 0 && i < model->size; n--)
      model->missing[i++] = missing;
    missing = !missing;
  }
}

static void
fill_places (struct model *model, int i)
{
  static const struct file *files[] = {
    (const struct file *) &seed, (const struct file *) files
  };
  unsigned longest = 1 + rnd (rnd (2) ? 10 : MAX_SIZE);
  struct place place;

  for (uint64_t n = 0, left = 0; n < model->size; n++) {
    if (left == 0) {
      left = 1 + rnd (longest);
      place = (struct place) {
        .kind = rnd (3), .zero = rnd (2), .file = files[rnd (2)],
        .host = rnd (4) * MAX_SIZE
      };
    }
    model->place[i][n] = place;
    place_advance (&place, 1);
    left--;
  }
}

static void
fill (struct model *model)
{
  uint64_t i = 0;
  bool zero = rnd (2);
  unsigned longest = 1 + rnd (rnd (2) ? 10 : MAX_SIZE);

  model->size = rnd (MAX_SIZE);
  model->longer = rnd (2);
  model->last = 0;
  while (i < model->size) {
    uint64_t n = 1 + rnd (longest);

    for (; n > 0 && i < model->size; n--)
      model->zero[i++] = zero;
    zero = !zero;
  }
  fill_missing (model);
  fill_places (model, 0);
  fill_places (model, 1);
}

/* Returns true if all bytes are in zero extents. */
static bool
all_zero (const struct model *model, uint64_t offset, uint64_t len)
{
  while (len-- > 0)
    if (!model->zero[offset++])
      return false;
  return true;
}

/* Check the places of RANGE, and free its extents.  Adjacent extents are one.
 */
static void
check_places (const struct model *model, struct range *range)
{
  uint64_t at = range->offset, end = at + range->len;

  if (range->zero) {
    assert_null (range->extents);
    return;
  }
  for (size_t n = 0; n < range->nr_extents; n++) {
    const struct extent *extent = &range->extents[n];

    assert_true (at < end);
    if (n > 0)
      assert_false (extent_continues (model, at - 1) &&
                    model->zero[at - 1] == model->zero[at]);
    for (uint64_t done = 0; done < extent->len && at < end; done++, at++)
      for (int i = 0; i < 2; i++) {
        const struct place *place = &model->place[i][at];

        assert_int_equal (extent->place[i].kind, place->kind);
        assert_int_equal (extent->place[i].zero, place->zero);
        if (place->kind == PLACE_FILE) {
          assert_ptr_equal (extent->place[i].file, place->file);
          assert_int_equal (extent->place[i].host + done, place->host);
        }
      }
  }
  assert_int_equal (at, end);
  free (range->extents);
}

static void
check_range (const struct cursor *cursor, const struct model *model,
             const struct range *range, uint64_t offset)
{
  uint64_t end = range->offset + range->len, block;

  assert_int_equal (range->offset, offset);
  assert_true (range->len > 0 && end <= model->size);
  assert_true (end == model->size || end % cursor->align == 0);
  if (range->zero) {
    assert_true (all_zero (model, range->offset, range->len));
    return;
  }
  assert_true (range->len <= cursor->max_read);
  /* No block that is completely in zero extents is read. */
  for (block = offset; block < end; block += cursor->align) {
    uint64_t n = cursor->align < model->size - block ? cursor->align
                                                     : model->size - block;

    assert_false (all_zero (model, block, n));
  }
}

static void
start (struct cursor *cursor, extent_function at, void *opaque,
       uint64_t size, uint64_t align, uint64_t max_read)
{
  *cursor = (struct cursor) {
    .size = size, .extent_at = at, .extent_opaque = opaque,
    .keep_places = true
  };
  cursor_start (cursor, align, max_read);
}

static void
test_random (void **state)
{
  static struct model model;
  int i;

  (void) state;
  for (i = 0; i < ROUNDS; i++) {
    uint64_t align = 1 << rnd (7), offset = 0;
    struct error error = { "" };
    struct cursor cursor;
    struct range range;
    int r;

    fill (&model);
    start (&cursor, extent_at, &model, model.size, align, rnd (300));
    while ((r = cursor_next (&cursor, &range, &error)) == 1) {
      check_range (&cursor, &model, &range, offset);
      check_places (&model, &range);
      offset += range.len;
    }
    cursor_stop (&cursor);
    assert_int_equal (r, 0);
    assert_int_equal (offset, model.size);
  }
}

/* Returns true if any of the bytes is missing. */
static bool
any_missing (const struct model *model, uint64_t offset, uint64_t len)
{
  while (len-- > 0)
    if (model->missing[offset++])
      return true;
  return false;
}

/* The ranges consist of the blocks with missing bytes, each of them once. */
static void
test_missing (void **state)
{
  static struct model model;
  int i;

  (void) state;
  for (i = 0; i < ROUNDS; i++) {
    uint64_t align = 1 << rnd (7), offset = 0, block;
    struct error error = { "" };
    struct cursor cursor;
    struct range range;
    int r;

    fill (&model);
    start (&cursor, extent_at, &model, model.size, align, rnd (300));
    cursor.missing_at = missing_at;
    cursor.missing_opaque = &model;
    while ((r = cursor_next (&cursor, &range, &error)) == 1) {
      assert_true (range.offset >= offset);
      assert_int_equal (range.offset % align, 0);
      assert_false (any_missing (&model, offset, range.offset - offset));
      for (block = range.offset; block < range.offset + range.len;
           block += align)
        assert_true (any_missing (&model, block, align < model.size - block
                                                 ? align
                                                 : model.size - block));
      check_range (&cursor, &model, &range, range.offset);
      check_places (&model, &range);
      offset = range.offset + range.len;
    }
    cursor_stop (&cursor);
    assert_int_equal (r, 0);
    assert_false (any_missing (&model, offset, model.size - offset));
  }
}

/* Set if the current missing range, in whole blocks, is longer than a read, or
 * is the whole image.
 */
static bool is_long;

static int
next_missing_at (void *opaque, uint64_t offset, uint64_t *start, uint64_t *len,
                 struct error *error)
{
  const struct cursor *cursor = opaque;
  int r = missing_at (cursor->extent_opaque, offset, start, len, error);
  uint64_t end;

  if (r == 1) {
    end = MIN (ROUND_UP (*start + *len, cursor->align), cursor->size);
    end -= ROUND_DOWN (*start, cursor->align);
    is_long = end > cursor->max_read || end == cursor->size;
  }
  return r;
}

static int
long_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                struct error *error)
{
  assert_true (is_long);
  return extent_at (opaque, offset, extent, error);
}

/* If one read covers a missing range, and the range is not the whole image, its
 * extents are not queried.  The ranges still contain all missing bytes.
 */
static void
test_short_ranges (void **state)
{
  static struct model model;
  int i;

  (void) state;
  for (i = 0; i < ROUNDS; i++) {
    uint64_t offset = 0;
    struct error error = { "" };
    struct cursor cursor;
    struct range range;
    int r;

    fill (&model);
    start (&cursor, long_extent_at, &model, model.size, 1 << rnd (7),
           rnd (300));
    cursor.missing_at = next_missing_at;
    cursor.missing_opaque = &cursor;
    cursor.skip_short_queries = true;
    cursor.keep_places = false;
    while ((r = cursor_next (&cursor, &range, &error)) == 1) {
      assert_false (any_missing (&model, offset, range.offset - offset));
      if (range.zero)
        assert_true (all_zero (&model, range.offset, range.len));
      offset = range.offset + range.len;
    }
    assert_int_equal (r, 0);
    assert_false (any_missing (&model, offset, model.size - offset));
  }
}

static int
bad_extent_at (void *opaque, uint64_t offset, struct extent *extent,
               struct error *error)
{
  (void) error;
  extent->len = offset < 8192 ? 8192 : 0;
  extent->zero = *(bool *) opaque;
  return 0;
}

/* An empty extent is an error, and not an endless loop. */
static void
test_empty_extent (void **state)
{
  struct error error = { "" };
  struct cursor cursor;
  struct range range;
  bool zero;
  int r;

  (void) state;
  for (zero = false; ; zero = true) {
    error.text[0] = '\0';
    start (&cursor, bad_extent_at, &zero, 1 << 20, 4096, 65536);
    while ((r = cursor_next (&cursor, &range, &error)) == 1)
      free (range.extents);
    cursor_stop (&cursor);
    assert_int_equal (r, -1);
    assert_true (error_is_set (&error));
    if (zero)
      break;
  }
}

static int
huge_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                struct error *error)
{
  (void) opaque; (void) offset; (void) error;
  extent->len = UINT64_MAX;
  extent->zero = true;
  return 0;
}

static void
test_largest_image (void **state)
{
  struct error error = { "" };
  struct cursor cursor;
  struct range range;

  (void) state;
  start (&cursor, huge_extent_at, NULL, UINT64_MAX, 65536, 65536);
  assert_int_equal (cursor_next (&cursor, &range, &error), 1);
  assert_true (range.zero);
  assert_true (range.len == UINT64_MAX);
  assert_int_equal (cursor_next (&cursor, &range, &error), 0);
  cursor_stop (&cursor);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_missing),
    cmocka_unit_test (test_short_ranges),
    cmocka_unit_test (test_empty_extent),
    cmocka_unit_test (test_largest_image),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

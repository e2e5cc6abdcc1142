/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: random operations on a set of parts of blocks, compared with the
 * same operations on an array.  The test prints its seed, which BLKHASH_SEED
 * can set.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "blkhash/claims.h"

#define BLOCK_SIZE 64           /* bytes */
#define BLOCKS 100
#define SIZE (BLOCKS * BLOCK_SIZE)
#define STEPS 20000
#define MAX 100000              /* parts */

static struct part_set set;
static bool model[SIZE];

/* ---- Compare ---- */

struct found {
  bool bytes[SIZE];
  uint64_t offset, end;         /* of the visit */
  unsigned parts;
};

static bool
on_part (void *opaque, struct block_part *part)
{
  struct found *found = opaque;
  uint64_t start = part->index * BLOCK_SIZE + part->start;
  uint64_t end = part->index * BLOCK_SIZE + part->end;

  assert_true (part->start < part->end && part->end <= BLOCK_SIZE);
  assert_true (start < found->end && end > found->offset);
  /* Parts that touch are one part. */
  assert_true (part->start == 0 || !model[start - 1]);
  assert_true (part->end == BLOCK_SIZE || !model[end]);
  for (; start < end; start++) {
    assert_false (found->bytes[start]);
    found->bytes[start] = true;
  }
  found->parts++;
  return false;
}

static void
compare (uint64_t offset, uint64_t end)
{
  static struct found found;

  found = (struct found) { .offset = offset, .end = end };
  assert_false (part_set_visit (&set, BLOCK_SIZE, offset, end, on_part,
                                &found));
  for (; offset < end; offset++)
    assert_int_equal (found.bytes[offset], model[offset]);
}

/* ---- Operations ---- */

static void
add (uint64_t offset, uint32_t len)
{
  assert_true (part_set_add (&set, MAX, offset / BLOCK_SIZE,
                             offset % BLOCK_SIZE, len));
  memset (model + offset, true, len);
}

static bool
remove_it (void *opaque, struct block_part *part)
{
  uint64_t start = part->index * BLOCK_SIZE + part->start;

  memset (model + start, false, part->end - part->start);
  block_part_remove (part);
  return opaque != NULL;        /* only the first */
}

static void
test_random (void **state)
{
  const char *given = getenv ("BLKHASH_SEED");
  unsigned seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);
  unsigned step;

  (void) state;
  printf ("BLKHASH_SEED=%u\n", seed);
  srand (seed);
  for (step = 0; step < STEPS; step++) {
    uint64_t offset = rand () % SIZE, end = offset + 1 + rand () % 300;
    uint32_t room = BLOCK_SIZE - offset % BLOCK_SIZE;

    end = end < SIZE ? end : SIZE;
    if (rand () % 8 > 0)
      add (offset, 1 + rand () % (room < 8 ? room : 8));
    else
      part_set_visit (&set, BLOCK_SIZE, offset, end, remove_it,
                      rand () % 2 ? &set : NULL);
    compare (offset, end);
    if (step % 1000 == 0)
      compare (0, SIZE);
  }
  part_set_clear (&set);
  memset (model, 0, sizeof model);
  compare (0, SIZE);
}

/* The numbers of parts are limited.  A part that is merged needs no room. */
static void
test_limits (void **state)
{
  uint32_t i;

  (void) state;
  for (i = 0; i < PARTS_OF_BLOCK; i++)
    assert_true (part_set_add (&set, MAX, 7, 2 * i, 1));
  assert_false (part_set_add (&set, MAX, 7, 2 * i, 1));
  assert_true (part_set_add (&set, MAX, 7, 2 * i - 1, 1));
  assert_true (part_set_add (&set, MAX, 7, 1, 1));
  assert_true (part_set_add (&set, MAX, 7, 2 * i + 1, 1));
  assert_false (part_set_add (&set, MAX, 7, 2 * i + 4, 1));
  assert_true (part_set_add (&set, MAX, 8, 0, 1));
  assert_false (part_set_add (&set, set.used, 9, 0, 1));
  part_set_clear (&set);
}

static bool
remove_any (void *opaque, struct block_part *part)
{
  (void) opaque;
  block_part_remove (part);
  return false;
}

/* Parts that are added and removed for ever need no more memory. */
static void
test_room (void **state)
{
  uint64_t i;

  (void) state;
  for (i = 0; i < 100000; i++) {
    assert_true (part_set_add (&set, MAX, i, 0, 1));
    part_set_visit (&set, BLOCK_SIZE, i * BLOCK_SIZE, i * BLOCK_SIZE + 1,
                    remove_any, NULL);
  }
  assert_true (set.room <= 64);
  part_set_clear (&set);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_limits),
    cmocka_unit_test (test_room),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

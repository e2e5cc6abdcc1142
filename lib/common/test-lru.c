/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: after random uses, a cache has the same numbers as a model: an
 * array of the most recently used numbers, in the order of their last use.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/lru.h"

#define MAX_ENTRIES 8
#define NUMBERS 20

struct model {
  uint64_t numbers[MAX_ENTRIES]; /* the most recently used is first */
  size_t count;
};

static size_t
position (const struct model *model, uint64_t number)
{
  size_t i;

  for (i = 0; i < model->count && model->numbers[i] != number; i++)
    ;
  return i;
}

static void
use (struct model *model, uint64_t number, size_t max)
{
  size_t i = position (model, number);

  if (i == model->count && model->count < max)
    model->count++;
  else if (i == model->count)
    i--;
  memmove (model->numbers + 1, model->numbers, i * sizeof number);
  model->numbers[0] = number;
}

static void
test_random (void **state)
{
  size_t max;
  int i;

  (void) state;
  srandom (7);
  for (max = 1; max <= MAX_ENTRIES; max++) {
    struct lru_entry entries[MAX_ENTRIES] = { { 0 } };
    struct lru lru = { entries, max, 0 };
    struct model model = { .count = 0 };

    for (i = 0; i < 10000; i++) {
      uint64_t number = random () % NUMBERS;
      struct lru_entry *entry = lru_find (&lru, number);

      assert_int_equal (lru_has (entry, number),
                        position (&model, number) < model.count);
      lru_use (&lru, entry, number);
      use (&model, number, max);
    }
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

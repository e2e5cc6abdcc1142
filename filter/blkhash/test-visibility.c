/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: which changes of a connection are hidden from which other
 * connections, which means that these might not see them (see visibility.c),
 * after flushes, closes and trims.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash/params.h"
#include "blkhash/visibility.h"

#define UNIT ((uint64_t) 65536) /* params.unit, bytes */
#define SIZE (20 * UNIT)

static struct visibility disk;
static struct unflushed a, b, c;
static unsigned lost;           /* number of units whose changes a failed flush
                                 * may have lost */

static int
begin (void **state)
{
  (void) state;
  memset (&disk, 0, sizeof disk);
  memset (&a, 0, sizeof a);
  memset (&b, 0, sizeof b);
  memset (&c, 0, sizeof c);
  params.unit = UNIT;
  params.shifted = false;
  lost = 0;
  return 0;
}

static int
end (void **state)
{
  (void) state;
  visibility_close (&disk, &a);
  visibility_close (&disk, &b);
  visibility_close (&disk, &c);
  visibility_destroy (&disk);
  return 0;
}

static void
change (struct unflushed *u, unsigned unit)
{
  visibility_change (&disk, u, unit * UNIT, (unit + 1) * UNIT, false);
}

static bool
hidden (struct unflushed *u, unsigned unit)
{
  uint64_t run_end;
  bool is_hidden = visibility_hidden (&disk, u, unit * UNIT, SIZE, &run_end);

  assert_true (run_end > unit * UNIT && run_end <= SIZE);
  return is_hidden;
}

static bool
conflict (const struct unflushed *u, unsigned unit)
{
  uint64_t run_end;

  return visibility_conflict (&disk, u, unit * UNIT, SIZE, &run_end);
}

static bool
flushing (struct unflushed *u, unsigned unit)
{
  uint64_t run_end;

  return visibility_flushing (u, unit * UNIT, SIZE, &run_end);
}

static bool
own (struct unflushed *u, unsigned unit)
{
  uint64_t run_end;

  return visibility_own (u, unit * UNIT, SIZE, &run_end);
}

static void
lose (void *opaque, uint64_t from, uint64_t to)
{
  (void) opaque;
  lost += (to - from) / UNIT;
}

static bool
flush (struct unflushed *u, bool ok)
{
  visibility_flush_begin (u);
  return visibility_flush_end (u, ok, lose, NULL);
}

/* ---- Changes ---- */

static void
test_round (void **state)
{
  uint64_t from = 2 * UNIT, to = 5 * UNIT;

  (void) state;
  visibility_round (&from, &to);
  assert_int_equal (from, 2 * UNIT);
  assert_int_equal (to, 5 * UNIT);

  from = 2 * UNIT + 1, to = 4 * UNIT + 1;
  visibility_round (&from, &to);
  assert_int_equal (from, 2 * UNIT);
  assert_int_equal (to, 5 * UNIT);

  from = 3 * UNIT - 1, to = 5 * UNIT - 1;
  visibility_round (&from, &to);
  assert_int_equal (from, 2 * UNIT);
  assert_int_equal (to, 5 * UNIT);
}

/* The blocks of the layers below, such as a cache, can be as large as a unit.
 * If they can also begin at any byte (params.shifted), each byte at a distance
 * of less than a unit from a changed byte can be in one block with it.
 */
static void
test_round_shifted (void **state)
{
  uint64_t from = 2 * UNIT, to = 3 * UNIT;

  (void) state;
  params.shifted = true;
  visibility_round (&from, &to);
  assert_int_equal (from, UNIT);
  assert_int_equal (to, 4 * UNIT);

  from = 2 * UNIT - 1, to = 2 * UNIT;
  visibility_round (&from, &to);
  assert_int_equal (from, UNIT);
  assert_int_equal (to, 3 * UNIT);

  from = UNIT / 2, to = 3 * UNIT + 2;
  visibility_round (&from, &to);
  assert_int_equal (from, 0);
  assert_int_equal (to, 5 * UNIT);
}

static void
test_change (void **state)
{
  uint64_t run_end;

  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  assert_true (visibility_is_alone (&disk, &b));
  change (&a, 3);
  assert_true (visibility_is_alone (&disk, &a));
  assert_false (visibility_is_alone (&disk, &b));
  assert_false (hidden (&b, 2));
  assert_true (hidden (&b, 3));
  assert_false (hidden (&b, 4));
  assert_true (conflict (&b, 3));
  assert_false (hidden (&a, 3));
  assert_false (conflict (&a, 3));
  assert_true (own (&a, 3));
  assert_false (own (&a, 4));
  assert_false (own (&b, 3));

  assert_false (visibility_hidden (&disk, &b, UNIT, SIZE, &run_end));
  assert_int_equal (run_end, 3 * UNIT);
  assert_true (visibility_hidden (&disk, &b, 3 * UNIT, SIZE, &run_end));
  assert_int_equal (run_end, 4 * UNIT);
  assert_false (visibility_hidden (&disk, &b, UNIT, 2 * UNIT, &run_end));
  assert_int_equal (run_end, 2 * UNIT);
}

static void
test_change_shifted (void **state)
{
  (void) state;
  params.shifted = true;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  change (&a, 3);
  assert_false (hidden (&b, 1));
  assert_true (hidden (&b, 2));
  assert_true (hidden (&b, 4));
  assert_false (hidden (&b, 5));
}

/* A unit that two connections changed is hidden from a third one until both
 * have flushed.
 */
static void
test_two (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  visibility_open (&disk, &c);
  change (&a, 1);
  change (&b, 1);
  change (&b, 2);
  assert_true (hidden (&a, 1) && hidden (&b, 1) && hidden (&c, 1));
  assert_true (flush (&a, true));
  assert_true (hidden (&a, 1) && !hidden (&b, 1) && hidden (&c, 1));
  assert_true (flush (&b, true));
  assert_true (!hidden (&a, 1) && !hidden (&b, 1) && !hidden (&c, 1));
  assert_true (!hidden (&a, 2) && !hidden (&c, 2));
}

/* ---- Flushes ---- */

static void
test_flush (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  assert_false (visibility_needs_flush (&a));
  assert_false (flush (&a, true));
  change (&a, 1);
  assert_true (visibility_needs_flush (&a));
  visibility_flush_begin (&a);
  assert_false (visibility_needs_flush (&a));
  assert_true (hidden (&b, 1));
  assert_true (conflict (&b, 1));
  assert_true (flushing (&a, 1));
  assert_false (flushing (&a, 2));
  change (&a, 2);
  assert_true (visibility_flush_end (&a, true, lose, NULL));
  assert_false (hidden (&b, 1));
  assert_false (flushing (&a, 1));
  assert_false (own (&a, 1));
  assert_true (hidden (&b, 2));
  assert_true (own (&a, 2));
  assert_int_equal (lost, 0);
  assert_true (flush (&a, true));
  assert_false (flush (&a, true));
}

/* Flushes that overlap count as one flush, which ends with the last of them. */
static void
test_flushes (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  change (&a, 1);
  visibility_flush_begin (&a);
  change (&a, 2);
  visibility_flush_begin (&a);
  assert_false (visibility_flush_end (&a, true, lose, NULL));
  assert_true (hidden (&b, 1));
  assert_true (visibility_flush_end (&a, true, lose, NULL));
  assert_false (hidden (&b, 1));
  assert_true (hidden (&b, 2));
}

/* A unit whose changes a failed flush may have lost is hidden from all
 * connections, even from the one that changed it, until a flush succeeds: while
 * that flush is in flight, a cache may still return the lost content.
 */
static void
test_failed_flush (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  change (&a, 1);
  change (&a, 4);
  visibility_flush_begin (&a);
  change (&a, 2);
  assert_true (visibility_flush_end (&a, false, lose, NULL));
  assert_int_equal (lost, 3);
  assert_true (hidden (&a, 1) && hidden (&a, 2) && hidden (&a, 4));
  assert_true (hidden (&b, 1) && hidden (&b, 2) && hidden (&b, 4));
  assert_false (hidden (&a, 3) || hidden (&b, 3));
  assert_false (own (&a, 1));
  assert_true (visibility_needs_flush (&a));
  visibility_flush_begin (&a);
  assert_true (hidden (&a, 1) && hidden (&b, 1));
  assert_true (visibility_flush_end (&a, true, lose, NULL));
  assert_false (hidden (&a, 1) || hidden (&b, 1));
  change (&a, 1);
  assert_false (hidden (&a, 1));
  assert_true (own (&a, 1));
}

/* A successful flush proves nothing if it overlaps one that failed. */
static void
test_failed_with_other (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  change (&a, 1);
  visibility_flush_begin (&a);
  visibility_flush_begin (&a);
  assert_true (visibility_flush_end (&a, false, lose, NULL));
  assert_int_equal (lost, 1);
  assert_false (visibility_flush_end (&a, true, lose, NULL));
  assert_true (hidden (&a, 1));
  assert_true (hidden (&b, 1));
  assert_true (flush (&a, true));
  assert_false (hidden (&a, 1));
  assert_false (hidden (&b, 1));
}

/* ---- Connections that were closed ---- */

static void
test_closed (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  change (&a, 1);
  visibility_close (&disk, &a);
  visibility_open (&disk, &c);
  assert_true (hidden (&b, 1));
  assert_true (conflict (&b, 1));
  assert_false (hidden (&b, 2));
  assert_false (visibility_is_alone (&disk, &b));
  assert_false (hidden (&c, 1));
  assert_true (visibility_is_alone (&disk, &c));
  visibility_close (&disk, &b);
  assert_false (hidden (&c, 1));

  /* Unit 5 is hidden from both connections that are open when C is closed, and
   * from B even after A is closed.  It is not hidden from a connection that is
   * opened later.
   */
  change (&c, 5);
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  visibility_close (&disk, &c);
  assert_true (hidden (&a, 5) && hidden (&b, 5));
  assert_false (hidden (&a, 1) || hidden (&b, 1));
  visibility_close (&disk, &a);
  assert_true (hidden (&b, 5));
  visibility_open (&disk, &a);
  assert_false (hidden (&a, 5));
}

static void
test_closed_flushed (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  change (&a, 1);
  flush (&a, true);
  visibility_close (&disk, &a);
  assert_false (hidden (&b, 1));
  assert_true (visibility_is_alone (&disk, &b));
}

static void
test_closed_without_others (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  change (&a, 1);
  visibility_close (&disk, &a);
  visibility_close (&disk, &a);
  visibility_open (&disk, &b);
  assert_false (hidden (&b, 1));
}

/* ---- Trims ---- */

/* Even after a flush, other connections may see the content that a unit had
 * before it was trimmed, until the whole unit is overwritten.
 */
static void
test_trim (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  visibility_change (&disk, &a, UNIT, 3 * UNIT, true);
  assert_true (flush (&a, true));
  assert_true (hidden (&b, 1) && hidden (&b, 2));
  assert_false (conflict (&b, 1));
  assert_false (hidden (&a, 1));
  assert_true (own (&a, 1));
  visibility_overwrite (&disk, UNIT, 2 * UNIT);
  visibility_overwrite (&disk, 2 * UNIT, 3 * UNIT - 1);
  assert_false (hidden (&b, 1));
  assert_true (hidden (&b, 2));
  assert_false (own (&a, 1));

  visibility_close (&disk, &a);
  assert_true (hidden (&b, 2));
  assert_false (hidden (&b, 1));
  assert_false (conflict (&b, 2));
  visibility_overwrite (&disk, 2 * UNIT, 3 * UNIT);
  assert_false (hidden (&b, 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_round),
    TEST (test_round_shifted),
    TEST (test_change),
    TEST (test_change_shifted),
    TEST (test_two),
    TEST (test_flush),
    TEST (test_flushes),
    TEST (test_failed_flush),
    TEST (test_failed_with_other),
    TEST (test_closed),
    TEST (test_closed_flushed),
    TEST (test_closed_without_others),
    TEST (test_trim),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

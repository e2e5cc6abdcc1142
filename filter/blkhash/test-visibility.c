/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: which changes of a connection are hidden from which other
 * connections, which means that these might not see them (see visibility.h),
 * after flushes, closes and trims.
 *
 * README.md has the model as two tables: the states of a block, and the events
 * that change them.  test_model reads the tables and runs each cell.
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

/* A flush that fails reports each range whose changes may be lost. */
static void
test_lost (void **state)
{
  (void) state;
  visibility_open (&disk, &a);
  change (&a, 1);
  change (&a, 4);
  visibility_flush_begin (&a);
  change (&a, 2);
  assert_true (visibility_flush_end (&a, false, lose, NULL));
  assert_int_equal (lost, 3);
  assert_true (hidden (&a, 1) && hidden (&a, 2) && hidden (&a, 4));
  assert_false (hidden (&a, 0) || hidden (&a, 3));
}

/* The changes of all closed connections are in one set. */
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

  /* The last connection from which unit 5 was hidden is closed with a change
   * of its own.
   */
  change (&b, 6);
  visibility_close (&disk, &b);
  assert_true (hidden (&a, 6));
  assert_false (hidden (&a, 5));
}

/* ---- The model in README.md ---- */

#define STATES 10               /* rows of each table */
#define WIDTH 6                 /* columns, without the first one */
#define IMPOSSIBLE "–"

/* Columns of the two tables. */
enum answer { B_READS, B_CHANGES, A_READS, DISCONNECTS, MUST_FLUSH, MAY_WRITE };
enum event { CHANGES, BEGINS, ENDS, FAILS, OVERWRITTEN, CLOSED };

struct row {
  char state[16];
  char cells[WIDTH][16];
};

static struct row answers[STATES], events[STATES];
/* The cells that were run. */
static bool asked[STATES][WIDTH], visited[STATES][WIDTH];

/* A connection that changes unit 1, and the state of this unit.  If all members
 * are zero, the connection is open, and the unit is in the first row: clean.
 */
struct model {
  unsigned state;               /* a row, but never TRIMMED */
  bool trimmed;
  unsigned flushes;             /* in flight */
  bool spoiled;                 /* one of the flushes that overlap failed */
  bool closed;                  /* the connection is */
};

/* The steps of a run, one letter each.  A does these:
 *
 *   c t     change or trim the unit
 *   b e f   begin a flush; end one, which succeeds or fails
 *   x       is closed
 *
 * B, another connection, does the same with capital letters; and these are by
 * any connection:
 *
 *   o p     the unit is overwritten; a part of it is
 */
static const char steps[] = "ctbefxopCBEF";

#define MAX_STEPS 32
#define MAX_WORLDS 2000

struct world {
  struct model a, b;
  char path[MAX_STEPS];         /* steps that lead to these states */
};

static void
fail_read (const char *line)
{
  fail_msg ("README.md is not as this test expects: %s", line);
}

/* Read the next table whose first column is "block". */
static void
read_table (FILE *f, struct row *rows)
{
  char line[256], *rest, *cell, *to;
  unsigned i, j;
  size_t len;

  do
    if (!fgets (line, sizeof line, f))
      fail_read ("no table");
  while (strncmp (line, "| block |", 9) != 0);
  for (i = 0; i <= STATES; i++) {
    if (!fgets (line, sizeof line, f) || line[0] != '|')
      fail_read ("a table is too short");
    if (i == 0)                 /* the line below the heading */
      continue;
    rest = line + 1;
    for (j = 0; j <= WIDTH; j++) {
      to = j == 0 ? rows[i - 1].state : rows[i - 1].cells[j - 1];
      cell = strsep (&rest, "|");
      if (!rest || (len = strlen (cell)) < 3 || len - 2 > 15)
        fail_read (line);
      memcpy (to, cell + 1, len - 2);
    }
  }
  if (fgets (line, sizeof line, f) && line[0] == '|')
    fail_read ("a table is too long");
}

static void
read_tables (void)
{
  const char *srcdir = getenv ("srcdir");
  char path[1024];
  unsigned i;
  FILE *f;

  snprintf (path, sizeof path, "%s/README.md", srcdir ? srcdir : ".");
  f = fopen (path, "r");
  if (!f)
    fail_msg ("%s: cannot be read", path);
  read_table (f, answers);
  read_table (f, events);
  fclose (f);
  for (i = 0; i < STATES; i++)
    assert_string_equal (answers[i].state, events[i].state);
}

static unsigned
find_state (const char *name)
{
  unsigned i;

  for (i = 0; i < STATES && strcmp (events[i].state, name) != 0; i++)
    ;
  if (i == STATES)
    fail_read (name);
  return i;
}

/* Look up the event of a connection in the table.  It is possible there unless
 * the table is wrong.
 */
static void
look_up_event (struct model *m, enum event event)
{
  unsigned trimmed = find_state ("trimmed");
  const char *next = events[m->state].cells[event];

  if (strcmp (next, IMPOSSIBLE) == 0)
    fail_msg ("%s: event %u is possible", events[m->state].state, event);
  visited[m->state][event] = true;
  m->state = find_state (next);
  m->closed |= event == CLOSED;
  if (m->closed && strcmp (next, "clean") != 0 && strcmp (next, "closed") != 0)
    fail_msg ("a closed connection cannot be %s", next);
  if (!m->trimmed)
    return;
  visited[trimmed][event] = true;
  next = events[trimmed].cells[event];
  m->trimmed = strcmp (next, "trimmed") == 0;
  if (!m->trimmed && strcmp (next, "clean") != 0)
    fail_msg ("trimmed: event %u: %s", event, next);
}

/* The model of a step.  Returns false if the step is impossible whatever the
 * state of the unit is: nbdkit does not do it.  More than two flushes at a time
 * are left out.
 */
static bool
step_one (struct model *m, char step)
{
  if (m->closed || (step == 'x' && m->flushes > 0) ||
      (step == 'b' && m->flushes == 2) ||
      ((step == 'e' || step == 'f') && m->flushes == 0))
    return false;
  switch (step) {
  case 'c': case 't':
    look_up_event (m, CHANGES);
    m->trimmed |= step == 't';
    break;
  case 'b':
    if (m->flushes++ == 0)
      look_up_event (m, BEGINS);
    break;
  case 'e':
    if (--m->flushes == 0 && !m->spoiled)
      look_up_event (m, ENDS);
    m->spoiled = m->flushes > 0 && m->spoiled;
    break;
  case 'f':
    look_up_event (m, FAILS);
    m->spoiled = --m->flushes > 0;
    break;
  case 'x':
    look_up_event (m, CLOSED);
    break;
  }
  return true;
}

static bool
step_model (struct world *w, char step)
{
  if (step == 'o') {
    look_up_event (&w->a, OVERWRITTEN);
    look_up_event (&w->b, OVERWRITTEN);
  }
  if (step == 'o' || step == 'p')
    return true;
  return step >= 'a' ? step_one (&w->a, step)
                     : step_one (&w->b, step - 'A' + 'a');
}

static bool
is_in_cell (unsigned state, enum answer column, const char *answer)
{
  asked[state][column] = true;
  return strcmp (answers[state].cells[column], answer) == 0;
}

/* Returns true if the table has ANSWER for the unit.  If it is trimmed, too,
 * the stricter answer counts.
 */
static bool
is (const struct model *m, enum answer column, const char *answer)
{
  return is_in_cell (m->state, column, answer) |
    (m->trimmed && is_in_cell (find_state ("trimmed"), column, answer));
}

static void
expect (const struct world *w, const char *what, bool found, bool wanted)
{
  if (found != wanted)
    fail_msg ("after the steps %s: %s: %d, not %d", w->path, what, found,
              wanted);
}

/* Check the answers about what OTHER did and, if there is one, ANOTHER. */
static void
check_view (const struct world *w, struct unflushed *u,
            const struct model *own_model, const struct model *other,
            const struct model *another)
{
  bool is_hidden = is (other, B_READS, "hidden") ||
    (another && is (another, B_READS, "hidden"));
  bool is_conflict = is (other, B_CHANGES, "conflict") ||
    (another && is (another, B_CHANGES, "conflict"));

  if (visibility_is_alone (&disk, u))
    expect (w, "the connection is alone", true, !is_hidden && !is_conflict);
  expect (w, "conflict", conflict (u, 1), is_conflict);
  expect (w, "hidden", hidden (u, 1),
          is_hidden || (own_model && is (own_model, A_READS, "hidden")));
  expect (w, "the unit before it is hidden", hidden (u, 0), false);
  expect (w, "the unit after it is hidden", hidden (u, 2), false);
}

static void
check_own (const struct world *w, struct unflushed *u, const struct model *m)
{
  expect (w, "it must flush", visibility_needs_flush (u),
          is (m, MUST_FLUSH, "yes"));
  expect (w, "its flush may write it", flushing (u, 1),
          is (m, MAY_WRITE, "yes"));
  if (m->flushes == 0)
    expect (w, "read back", own (u, 1), is (m, DISCONNECTS, "read back"));
}

/* Check the answers of all connections.  C was opened with A and B, and makes
 * no change; another one is opened now.
 */
static void
check (const struct world *w)
{
  struct unflushed newer = { 0 };

  if (!w->a.closed) {
    check_view (w, &a, &w->a, &w->b, NULL);
    check_own (w, &a, &w->a);
  }
  check_view (w, &b, &w->b, &w->a, NULL);
  check_own (w, &b, &w->b);
  check_view (w, &c, NULL, &w->a, &w->b);
  visibility_open (&disk, &newer);
  check_view (w, &newer, NULL, &w->b, w->a.closed ? NULL : &w->a);
  visibility_close (&disk, &newer);
}

/* The real step of the connection whose models were BEFORE, and are NOW. */
static void
step_real (const struct world *w, struct unflushed *u, char step,
           const struct model *before, const struct model *now)
{
  switch (step) {
  case 'c': case 't':
    visibility_change (&disk, u, UNIT, 2 * UNIT, step == 't');
    break;
  case 'b':
    visibility_flush_begin (u);
    break;
  case 'e':
    expect (w, "others may see something else",
            visibility_flush_end (u, true, lose, NULL),
            now->flushes == 0 && is (before, MAY_WRITE, "yes"));
    break;
  case 'f':
    lost = 0;
    expect (w, "others may see something else",
            visibility_flush_end (u, false, lose, NULL), true);
    expect (w, "lost", lost > 0, is (now, A_READS, "hidden"));
    break;
  case 'x':
    visibility_close (&disk, u);
    break;
  case 'o': case 'p':
    visibility_overwrite (&disk, UNIT, 2 * UNIT - (step == 'p'));
    break;
  }
}

/* Run those of the steps that are possible, and check the answers after each.
 */
static void
run (const char *path, const char *tail)
{
  struct world w = { .path = "" }, before;
  char all[2 * MAX_STEPS];
  size_t i;

  begin (NULL);
  visibility_open (&disk, &a);
  visibility_open (&disk, &b);
  visibility_open (&disk, &c);
  snprintf (all, sizeof all, "%s%s", path, tail);
  for (i = 0; all[i]; i++) {
    before = w;
    if (!step_model (&w, all[i]))
      continue;
    w.path[strlen (w.path)] = all[i];
    assert_true (strlen (w.path) < MAX_STEPS);
    if (all[i] >= 'a')
      step_real (&w, &a, all[i], &before.a, &w.a);
    else
      step_real (&w, &b, all[i] - 'A' + 'a', &before.b, &w.b);
    check (&w);
  }
  while (a.nr_flushes > 0)
    visibility_flush_end (&a, true, lose, NULL);
  while (b.nr_flushes > 0)
    visibility_flush_end (&b, true, lose, NULL);
  end (NULL);
}

static unsigned
number_of (const struct model *m)
{
  return (((m->state * 2 + m->trimmed) * 3 + m->flushes) * 2 + m->spoiled) * 2 +
    m->closed;
}

static bool
is_same (const struct world *w, const struct world *other)
{
  return number_of (&w->a) == number_of (&other->a) &&
    number_of (&w->b) == number_of (&other->b);
}

/* Check that exactly the cells that are possible were run. */
static void
check_all_run (const struct row *rows, bool was_run[STATES][WIDTH])
{
  unsigned i, j;

  for (i = 0; i < STATES; i++)
    for (j = 0; j < WIDTH; j++)
      if (was_run[i][j] == (strcmp (rows[i].cells[j], IMPOSSIBLE) == 0))
        fail_msg ("%s: column %u: is it %s?", rows[i].state, j, IMPOSSIBLE);
}

/* Find all states of A and B together, each by a shortest path.  From each, run
 * every step, and then each of the tails, by which states differ that have the
 * same answers.
 */
static void
test_model (void **state)
{
  static const char *const tails[] = {
    "", "ceebex", "eecbce", "fceb", "xo", "CEBE"
  };
  static struct world worlds[MAX_WORLDS];
  unsigned n = 1, i, j, k;
  const char *step;

  (void) state;
  read_tables ();
  for (i = 0; i < n; i++)
    for (step = steps; *step; step++) {
      struct world w = worlds[i];

      if ((*step == 'B' && w.b.flushes > 0) || !step_model (&w, *step))
        continue;
      w.path[strlen (w.path)] = *step;
      assert_true (strlen (w.path) < MAX_STEPS);
      for (k = 0; k < sizeof tails / sizeof tails[0]; k++)
        run (w.path, tails[k]);
      for (j = 0; j < n && !is_same (&worlds[j], &w); j++)
        ;
      if (j < n)
        continue;
      assert_true (n < MAX_WORLDS);
      worlds[n++] = w;
    }
  check_all_run (answers, asked);
  check_all_run (events, visited);
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
    TEST (test_lost),
    TEST (test_closed),
    cmocka_unit_test (test_model),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

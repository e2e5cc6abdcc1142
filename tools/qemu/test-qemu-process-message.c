/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test how messages of qemu's programs are converted.  The messages can contain
 * the name of an image, and text from the image.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "qemu/qemu.h"
#include "util/error.h"

#define OPTS "driver=vhdx,file.filename=dir/a,,b"

static void
refine (struct error *error, const char *messages, const char *name,
        bool is_operand)
{
  const char *const targets[] = { OPTS, "/proc/self/fd/4", NULL };

  *error = (struct error) { "ours" };
  qemu_message_refine_error (error, messages, targets, name, is_operand);
}

static void
assert_becomes (const char *messages, const char *expected)
{
  struct error error;

  refine (&error, messages, "dir/a,b", true);
  assert_string_equal (error.text, expected);
}

static void
test_one_line (void **state)
{
  (void) state;

  assert_becomes ("qemu-nbd: why\n", "why");
  assert_becomes ("qemu-nbd: why", "why");
  assert_becomes ("not by its name: why\n", "not by its name: why");
  assert_becomes ("qemu-nbd: Failed to blk_new_open '" OPTS "': why: 'x': y\n",
                  "why: 'x': y");
  assert_becomes ("qemu-img: Could not open '" OPTS "': why\n", "why");
  assert_becomes ("qemu-nbd: Failed to blk_new_open '/proc/self/fd/4': why\n",
                  "why");
  assert_becomes ("qemu-nbd: Failed to blk_new_open '" OPTS "': "
                  "Could not open 'dir/a,b': why\n", "why");
  assert_becomes ("qemu-img: Could not open 'other': why\n",
                  "Could not open 'other': why");
  assert_becomes ("a " OPTS ", b /proc/self/fd/4.\n",
                  "a dir/a,b, b dir/a,b.");
}

/* The name of an operand is removed, because it is printed before the error;
 * the name of another file is kept.
 */
static void
test_other_name (void **state)
{
  struct error error;

  (void) state;

  refine (&error, "qemu-img: Could not open '" OPTS "': why\n", "base",
          false);
  assert_string_equal (error.text, "Could not open 'base': why");
}

static void
test_lines (void **state)
{
  (void) state;

  assert_becomes ("qemu-nbd: Failed to blk_new_open '" OPTS "': one\n"
                  "To do two, run:\n\nqemu-img three '/proc/self/fd/4'\n",
                  "one\nTo do two, run:\nqemu-img three 'dir/a,b'");
  assert_becomes ("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
                  "1\n2\n3\n4\n5\n6\n7\n8\n9\n10");
  assert_becomes ("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                  "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
                  "(the rest is not shown)");
}

/* Messages about our own disconnect are not used as the reason. */
static void
test_disconnect (void **state)
{
  static const char broken[] = "qemu-nbd: Disconnect client, due to: Failed "
    "to send reply: Unable to write to socket: Broken pipe\n";
  char messages[1000];

  (void) state;

  assert_becomes (broken, "ours");
  assert_becomes ("", "ours");
  assert_becomes ("\n", "ours");
  snprintf (messages, sizeof messages, "%swhy\n%s", broken, broken);
  assert_becomes (messages, "why");
  snprintf (messages, sizeof messages, "%s%s%s", broken,
            "qemu-nbd: Disconnect client, due to: reading failed: EIO\n",
            "qemu-nbd: Disconnect client, due to: No more\n");
  assert_becomes (messages, "Disconnect client, due to: reading failed: EIO");
  assert_becomes ("ssh: Connection reset by peer\n",
                  "ssh: Connection reset by peer");
}

/* Control characters do not reach a terminal. */
static void
test_control (void **state)
{
  struct error error;

  (void) state;

  assert_becomes ("a\033[2Jb\r\001\177\n", "a?[2Jb???");
  assert_becomes ("\xc2\x9b" "2J caf\xc3\xa9 \xc2\xa9 \xe9\n",
                  "?2J caf\xc3\xa9 \xc2\xa9 \xe9");
  refine (&error, "qemu-img: Could not open '" OPTS "': why\n", "a\nb: c",
          true);
  assert_string_equal (error.text, "why");
  refine (&error, "No '" OPTS "'\n", "a\nb", true);
  assert_string_equal (error.text, "No 'a; b'");
  refine (&error, "No 'a\nb'\n", "a\nb", true);
  assert_string_equal (error.text, "No 'a; b'");
}

/* Long messages are truncated to fit, and say so. */
static void
test_long (void **state)
{
  static char messages[3 * sizeof (struct error)];
  struct error error;

  (void) state;

  memset (messages, 'a', sizeof messages - 1);
  refine (&error, messages, "x", true);
  assert_int_equal (error.text[0], 'a');
  assert_non_null (strstr (error.text, "a\n(the rest is not shown)"));
  for (size_t i = 0; i < sizeof messages - 1; i++)
    messages[i] = i % 1000 == 999 ? '\n' : "\xc2\x9b"[i % 2];
  refine (&error, messages, "x", true);
  assert_true (strlen (error.text) < sizeof error.text);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one_line),
    cmocka_unit_test (test_other_name),
    cmocka_unit_test (test_lines),
    cmocka_unit_test (test_disconnect),
    cmocka_unit_test (test_control),
    cmocka_unit_test (test_long),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test how the options of an image are parsed.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "image/options-tree.h"
#include "util/error.h"

static void
parses (const char *text, const char *expected)
{
  struct error error = { "" };
  struct json_object *tree = options_tree_parse (text, &error);

  assert_string_equal (error.text, "");
  assert_non_null (tree);
  assert_string_equal (json_object_to_json_string_ext
                         (tree, JSON_C_TO_STRING_PLAIN |
                                JSON_C_TO_STRING_NOSLASHESCAPE), expected);
  json_object_put (tree);
}

/* Parsing TEXT fails, and REASON is a part of the error message. */
static void
refuses (const char *text, const char *reason)
{
  struct error error = { "" };

  assert_null (options_tree_parse (text, &error));
  if (!strstr (error.text, reason))
    fail_msg ("'%s' is not in '%s'", reason, error.text);
}

static void
test_trees (void **state)
{
  (void) state;

  parses ("", "{}");
  parses ("driver=qcow2", "{\"driver\":\"qcow2\"}");
  parses ("driver=raw,file.driver=qcow2,file.file.filename=x,size=1m",
          "{\"driver\":\"raw\",\"file\":{\"driver\":\"qcow2\","
          "\"file\":{\"filename\":\"x\"}},\"size\":\"1m\"}");
  /* A list becomes an object: in qemu the keys of an object and of a list, such
   * as "a.0" and "a.1", have the same form.
   */
  parses ("a.0.b=1,a.1.b=2,a.10=3",
          "{\"a\":{\"0\":{\"b\":\"1\"},\"1\":{\"b\":\"2\"},\"10\":\"3\"}}");
  /* All values are strings. */
  parses ("a=1,b=true,c=null,d={},e= x ,f=\"\\\n\x80",
          "{\"a\":\"1\",\"b\":\"true\",\"c\":\"null\",\"d\":\"{}\","
          "\"e\":\" x \",\"f\":\"\\\"\\\\\\n\x80\"}");
}

static void
test_values (void **state)
{
  (void) state;

  parses ("a=,,", "{\"a\":\",\"}");
  parses ("a=x,,driver=y,b=,,,,,c=", "{\"a\":\"x,driver=y\",\"b\":\",,\","
          "\"c\":\"\"}");
  parses ("a=b=c=.,", "{\"a\":\"b=c=.\"}");
  parses ("a,b.c,nod,node=1,noe.no", "{\"a\":\"on\",\"b\":{\"c\":\"on\"},"
          "\"d\":\"off\",\"node\":\"1\",\"e\":{\"no\":\"off\"}}");
  /* An empty "backing" is null, at any depth. */
  parses ("backing=", "{\"backing\":null}");
  parses ("backing.backing=,file=", "{\"backing\":{\"backing\":null},"
          "\"file\":\"\"}");
  parses ("backing=x", "{\"backing\":\"x\"}");
}

static void
test_contradictions (void **state)
{
  (void) state;

  refuses ("driver=raw,driver=qcow2", "'driver' is given twice");
  refuses ("file.file.a=1,x=2,file.file.a=", "'file.file.a' is given twice");
  refuses ("a,a=off", "'a' is given twice");
  refuses ("a,noa", "'a' is given twice");
  refuses ("backing=,backing=x", "'backing' is given twice");
  refuses ("backing=x,backing=", "'backing' is given twice");
  refuses ("file=x,file.driver=raw", "'file' has both a value");
  refuses ("file.driver=raw,file=x", "'file' has both a value");
  refuses ("a.b.c.d=1,a.b=2", "'a.b' has both a value");
  refuses ("a.b=2,a.b.c.d=1", "'a.b' has both a value");
  refuses ("backing=,backing.driver=raw", "'backing' has both a value");
  refuses ("backing.driver=raw,backing=", "'backing' has both a value");

  /* A repeated option with the same value is not a contradiction. */
  parses ("a=1,b.c=,,,a=1,b.c=,,,backing=,backing=",
          "{\"a\":\"1\",\"b\":{\"c\":\",\"},\"backing\":null}");
  parses ("a,a=on,nob,b=off", "{\"a\":\"on\",\"b\":\"off\"}");
  /* Names of different options can have the same prefix. */
  parses ("file=x,filex=y,file-x.file=z", "{\"file\":\"x\",\"filex\":\"y\","
          "\"file-x\":{\"file\":\"z\"}}");
}

static void
test_names (void **state)
{
  static const char *const texts[] = {
    ",", ",a=1", "a=1,=2", "=", "no", "a,,b", "a.=1", ".a=1", "a..b=1", ".",
    "a.b.=1", "a=1,,,,=2,=3", "/dir.d/../image", "./image",
  };

  (void) state;

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    refuses (texts[i], "is not a valid option name");
}

/* Returns TEXT repeated COUNT times, followed by LAST. */
static char *
repeat (const char *text, size_t count, const char *last)
{
  size_t len = strlen (text);
  char *all = malloc (count * len + strlen (last) + 1), *p = all;

  assert_non_null (all);
  for (size_t i = 0; i < count; i++)
    p = mempcpy (p, text, len);
  strcpy (p, last);
  return all;
}

static void
test_limits (void **state)
{
  char *text = repeat ("a.", OPTIONS_TREE_DEPTH - 1, "a=x");
  struct error error = { "" };
  struct json_object *tree = options_tree_parse (text, &error);

  (void) state;

  assert_non_null (tree);
  json_object_put (tree);
  free (text);
  text = repeat ("a.", OPTIONS_TREE_DEPTH, "a=x");
  refuses (text, "nested too deeply");
  free (text);
  text = repeat ("file.", 1 << 20, "");
  refuses (text, "nested too deeply");
  free (text);

  /* Many options: the same one 5000 times, or 5000 different ones. */
  text = repeat ("a=x,", 5000, "");
  parses (text, "{\"a\":\"x\"}");
  free (text);
  text = malloc (5000 * 8 + 1);
  assert_non_null (text);
  for (size_t i = 0; i < 5000; i++)
    sprintf (text + 8 * i, "a%05zu=,", i);
  refuses (text, "more than 4096 options");
  free (text);

  /* A long value. */
  text = repeat (",,", 1 << 20, "");
  refuses (text, "is not a valid option name");
  memcpy (text, "a=", 2);
  tree = options_tree_parse (text, &error);
  assert_non_null (tree);
  assert_int_equal (json_object_get_string_len
                      (json_object_object_get (tree, "a")), (1 << 20) - 1);
  json_object_put (tree);
  free (text);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_trees),
    cmocka_unit_test (test_values),
    cmocka_unit_test (test_contradictions),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_limits),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

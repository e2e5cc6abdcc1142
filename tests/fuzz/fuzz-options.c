/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: an operand of --image-opts.  The options for qemu that are made
 * from the parsed tree describe the same tree.
 */

#include <config.h>

#include <string.h>

#include <json-c/json.h>

#include "fuzz-main.h"
#include "image/options-tree.h"
#include "image/qemuopts.h"
#include "util/error.h"

/* With the maximum depth, which is more than json_tokener_parse supports. */
static struct json_object *
parse_json (const char *text)
{
  struct json_tokener *tokener = json_tokener_new_ex (OPTIONS_TREE_DEPTH + 1);
  struct json_object *tree = json_tokener_parse_ex (tokener, text, -1);

  json_tokener_free (tokener);
  return tree;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char *text = strndup ((const char *) data, size), *target, *again;
  struct error error = { "" };
  struct json_object *tree = options_tree_parse (text, &error), *passed;

  if (!tree != error_is_set (&error))
    abort ();
  free (text);
  if (!tree)
    return 0;
  target = qemuopts_target (tree, true);
  passed = qemuopts_is_json (target) ? parse_json (target + strlen ("json:"))
    : options_tree_parse (target, &error);
  if (!passed)
    abort ();
  again = qemuopts_target (passed, true);
  if (strcmp (target, again) != 0)
    abort ();
  free (again);
  free (target);
  json_object_put (passed);
  json_object_put (tree);
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: an operand of --image-opts.  What qemu is told of its tree
 * describes the same tree.
 */

#include <config.h>

#include <string.h>

#include <json-c/json.h>

#include "fuzz-main.h"
#include "image/options-tree.h"
#include "image/qemuopts.h"
#include "util/error.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char *text = strndup ((const char *) data, size), *target, *again;
  struct error error = { "" };
  struct json_object *tree = options_tree_parse (text, &error), *told;

  if (!tree != error_is_set (&error))
    abort ();
  free (text);
  if (!tree)
    return 0;
  target = qemuopts_target (tree, true);
  told = qemuopts_is_json (target) ? json_tokener_parse (target + 5)
    : options_tree_parse (target, &error);
  again = qemuopts_target (told, true);
  if (strcmp (target, again) != 0)
    abort ();
  free (again);
  free (target);
  json_object_put (told);
  json_object_put (tree);
  return 0;
}

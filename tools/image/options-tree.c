/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse the options of an image into a tree.
 *
 * As in qemu, a comma in a value is doubled, and KEY and noKEY are KEY=on and
 * KEY=off.  There are two differences from qemu.  qemu interprets a first
 * option without a value as a reference to a node; here it is an option like
 * any other.  For KEY=A,KEY=B qemu uses B; here different values are an error.
 *
 * The options are not interpreted, except "backing=", which is null in qemu.
 */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "image/options-tree.h"
#include "util/error.h"

#define MAX_OPTIONS 4096        /* including objects; each takes about 1 KiB */

struct parser {
  struct json_object *tree;
  unsigned count;
  struct error *error;
};

/* Add VALUE to PARENT as NAME, a component of the option KEY.  PARENT takes
 * ownership of VALUE; on error VALUE is released.  Returns 0, or -1 on error.
 */
static int
add (struct parser *parser, struct json_object *parent, const char *name,
     struct json_object *value, const char *key)
{
  int r;

  if (!*name)
    r = error_set (parser->error, "'%s' is not a valid option name", key);
  else if (++parser->count > MAX_OPTIONS)
    r = error_set (parser->error, "more than %d options", MAX_OPTIONS);
  else if (json_object_object_add (parent, name, value) != 0)
    r = error_set (parser->error, "out of memory");
  else
    return 0;
  json_object_put (value);
  return r;
}

static int
refuse_both (struct parser *parser, const char *key)
{
  return error_set (parser->error, "option '%s' has both a value and "
                    "suboptions", key);
}

/* Returns the object NAME of PARENT, which is created if it does not exist; or
 * NULL on error.
 */
static struct json_object *
get_object (struct parser *parser, struct json_object *parent,
            const char *name, const char *key)
{
  struct json_object *object;

  if (json_object_object_get_ex (parent, name, &object)) {
    if (json_object_is_type (object, json_type_object))
      return object;
    refuse_both (parser, key);
    return NULL;
  }
  object = json_object_new_object ();
  if (!object)
    error_set (parser->error, "out of memory");
  else if (add (parser, parent, name, object, key) == 0)
    return object;
  return NULL;
}

/* Returns the object that contains the option KEY, with the last component of
 * KEY in *NAME; or NULL on error.
 */
static struct json_object *
get_parent (struct parser *parser, char *key, const char **name)
{
  struct json_object *parent = parser->tree;
  char *part = key, *dot;

  for (unsigned depth = 1; parent && (dot = strchr (part, '.')); depth++) {
    if (depth == OPTIONS_TREE_DEPTH) {
      error_set (parser->error, "the options are nested too deeply");
      return NULL;
    }
    *dot = '\0';                /* KEY is now the path to this object */
    parent = get_object (parser, parent, part, key);
    *dot = '.';
    part = dot + 1;
  }
  *name = part;
  return parent;
}

static int
check_repeated (struct parser *parser, struct json_object *old,
                const char *value, const char *key)
{
  if (json_object_is_type (old, json_type_object))
    return refuse_both (parser, key);
  if (strcmp (old ? json_object_get_string (old) : "", value) == 0)
    return 0;
  return error_set (parser->error, "option '%s' is given twice, with different "
                    "values", key);
}

static int
set_option (struct parser *parser, char *key, const char *value)
{
  struct json_object *parent, *string = NULL;
  const char *name;

  parent = get_parent (parser, key, &name);
  if (!parent)
    return -1;
  if (json_object_object_get_ex (parent, name, &string))
    return check_repeated (parser, string, value, key);
  if (*value || strcmp (name, "backing") != 0) {
    string = json_object_new_string (value);
    if (!string)
      return error_set (parser->error, "out of memory");
  }
  return add (parser, parent, name, string, key);
}

/* Parse the value at *TEXT, which is unescaped in place, and advance *TEXT. */
static const char *
parse_value (char **text)
{
  char *value = *text, *in = value, *out = value;

  while (*in && (*in != ',' || in[1] == ',')) {
    *out++ = *in;
    in += *in == ',' ? 2 : 1;
  }
  *text = in + (*in == ',');
  *out = '\0';
  return value;
}

/* Parse and add the option at *TEXT, and advance *TEXT.  The text is modified.
 * Returns 0, or -1 on error.
 */
static int
parse_option (struct parser *parser, char **text)
{
  char *key = *text, *end = key + strcspn (key, "=,");
  bool has_value = *end == '=';
  const char *value = "on";

  *text = end + (*end != '\0');
  *end = '\0';
  if (has_value)
    value = parse_value (text);
  else if (strncmp (key, "no", 2) == 0) {
    key += 2;
    value = "off";
  }
  return set_option (parser, key, value);
}

struct json_object *
options_tree_parse (const char *text, struct error *error)
{
  struct parser parser = {
    .tree = json_object_new_object (), .error = error
  };
  char *copy = strdup (text), *rest = copy;
  int r = 0;

  if (!parser.tree || !copy)
    r = error_set (error, "out of memory");
  else if (strncmp (text, "json:", strlen ("json:")) == 0)
    r = error_set (error, "--image-opts does not accept JSON: use "
                   "driver=FORMAT,file.filename=FILE");
  while (r == 0 && *rest)
    r = parse_option (&parser, &rest);
  free (copy);
  if (r == 0)
    return parser.tree;
  json_object_put (parser.tree);
  return NULL;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * qemu flattens the objects in a file name that starts with "json:" to keys
 * with dots, and leaves string values as they are.  So size=1M in an option
 * string and "size":"1M" in JSON mean the same.  Only null cannot be written in
 * an option string, except as "", for which qemu prints a warning.  But qemu
 * does not accept JSON with text that is not UTF-8, or that contains
 * noncharacters of Unicode.  Options with such text are converted to an option
 * string, which is KEY=VALUE,KEY=VALUE with commas in values doubled.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "../lib/common/text.h"
#include "image/layer.h"
#include "image/qemuopts.h"
#include "util/error.h"

/* ---- Names ---- */

/* A name with a colon before its first slash starts with a protocol.  The two
 * lists below are of the protocols that read raw (flat) data.  Other protocols
 * (json:, blkdebug:, blkverify:, fat:) define further nodes, which qemu could
 * probe.
 */

static const char *const local[] = {
  "file", "host_device", "host_cdrom", NULL
};

/* Names of drivers.  A protocol has the same name as its driver, except that a
 * transport can follow, as in "nbd+unix".
 */
static const char *const remote[] = {
  "ftp", "ftps", "gluster", "http", "https", "iscsi", "iser", "nbd", "nfs",
  "null-aio", "null-co", "nvme", "rbd", "ssh", NULL
};

bool
qemuname_is_protocol (const char *driver)
{
  return word_is_one_of (driver, strlen (driver), local) ||
    word_is_one_of (driver, strlen (driver), remote);
}

static size_t
protocol_length (const char *name)
{
  size_t len = strcspn (name, ":/");

  return name[len] == ':' ? len : 0;
}

char *
qemuname_in_directory_of (const char *path, const char *name)
{
  const char *slash = strrchr (path, '/');
  char *full;

  if (*name == '/' || !slash)
    return strdup (name);
  if (asprintf (&full, "%.*s/%s", (int) (slash - path), path, name) == -1)
    return NULL;
  return full;
}

char *
qemuname_resolve (const char *path, const char *name)
{
  if (protocol_length (name) > 0)
    return strdup (name);
  return qemuname_in_directory_of (path, name);
}

bool
qemuname_is_checkable (const char *name)
{
  size_t len = protocol_length (name);

  return len == 0 || word_is_one_of (name, len, local) ||
    word_is_one_of (name, strcspn (name, "+:"), remote);
}

enum answer
qemuname_locate (const char *from, const char *name, const char **path,
                 struct error *error)
{
  size_t len = protocol_length (name);

  *path = name;
  if (!qemuname_is_checkable (name))
    return error_about (error, from, "refused because it names '%s', which "
                        "cannot be checked: " QEMUNAME_HINT, name);
  if (len == 0)
    return ANSWER_YES;
  if (!word_is_one_of (name, len, local))
    return ANSWER_NO;
  *path = name + len + 1;
  return ANSWER_YES;
}

/* ---- The tree ---- */

/* Add VALUE to OBJECT, which takes ownership of it.  Returns false if there is
 * no memory.
 */
static bool
add (struct json_object *object, const char *key, struct json_object *value)
{
  if (value && json_object_object_add (object, key, value) == 0)
    return true;
  json_object_put (value);
  return false;
}

static bool
add_string (struct json_object *object, const char *key, const char *value)
{
  return add (object, key, json_object_new_string (value));
}

static struct json_object *
file_node (const char *path, bool is_block_device)
{
  struct json_object *file = json_object_new_object ();

  if (file &&
      add_string (file, "driver", is_block_device ? "host_device" : "file") &&
      add_string (file, "filename", path))
    return file;
  json_object_put (file);
  return NULL;
}

struct json_object *
qemuopts_of_file (const char *format, const char *path,
                  bool is_block_device, bool alone)
{
  struct json_object *options = json_object_new_object ();

  if (options && add_string (options, "driver", format) &&
      add (options, "file", file_node (path, is_block_device)) &&
      (!alone || json_object_object_add (options, "backing", NULL) == 0))
    return options;
  json_object_put (options);
  return NULL;
}

/* A vpc has no backing layer.  The options of a backing layer that have no file
 * name are added to those that the header of the layer above has.
 */
bool
qemuopts_set_vpc_size (struct json_object *options, const struct layer *layer)
{
  const struct layer *last = layer;

  while (last->backing)
    last = last->backing;
  if (!last->format || strcmp (last->format, "vpc") != 0)
    return true;
  for (; layer != last; layer = layer->backing) {
    struct json_object *backing = json_object_new_object ();

    if (!add (options, "backing", backing))
      return false;
    options = backing;
  }
  return add_string (options, "force_size_calc", "current_size");
}

/* ---- As text ---- */

/* Is the character of LEN bytes at S a Unicode noncharacter? */
static bool
is_noncharacter (const unsigned char *s, size_t len)
{
  if (len == 3 && s[0] == 0xef)
    return (s[1] == 0xb7 && s[2] >= 0x90 && s[2] <= 0xaf) ||
      (s[1] == 0xbf && s[2] >= 0xbe);
  return len == 4 && (s[1] & 0xf) == 0xf && s[2] == 0xbf && s[3] >= 0xbe;
}

/* Does qemu accept TEXT in JSON? */
static bool
text_fits_json (const char *text)
{
  for (size_t n; *text; text += n) {
    n = utf8_length (text);
    if (n == 0 || is_noncharacter ((const unsigned char *) text, n))
      return false;
  }
  return true;
}

static bool
fits_json (struct json_object *options)
{
  json_object_object_foreach (options, key, value) {
    if (!text_fits_json (key))
      return false;
    if (json_object_is_type (value, json_type_object) ? !fits_json (value)
        : value && !text_fits_json (json_object_get_string (value)))
      return false;
  }
  return true;
}

/* The print functions return false if there is no memory.  They check each
 * call, because a stream of open_memstream does not set its error flag in this
 * case.  json-c is not used to print, because it leaves out a part of the text
 * if there is no memory.
 */
static bool
print_text (FILE *out, const char *text)
{
  return fputs (text, out) != EOF;
}

static bool
print_json (FILE *out, struct json_object *object)
{
  const char *separator = "{";

  if (!object)
    return print_text (out, "null");
  if (!json_object_is_type (object, json_type_object))
    return json_string (out, json_object_get_string (object));
  json_object_object_foreach (object, key, value) {
    if (!print_text (out, separator) || !json_string (out, key) ||
        !print_text (out, ":") || !print_json (out, value))
      return false;
    separator = ",";
  }
  return print_text (out, *separator == '{' ? "{}" : "}");
}

static bool
print_json_name (FILE *out, struct json_object *options)
{
  return print_text (out, "json:") && print_json (out, options);
}

/* A node on the path to an option.  NAME is its name in its parent. */
struct parent {
  const struct parent *parent;
  const char *name;
};

static bool
print_prefix (FILE *out, const struct parent *parent)
{
  return !parent || (print_prefix (out, parent->parent) &&
                     fprintf (out, "%s.", parent->name) > 0);
}

static bool
print_value (FILE *out, const char *value)
{
  for (; *value; value++)
    if ((*value == ',' && putc (',', out) == EOF) || putc (*value, out) == EOF)
      return false;
  return true;
}

static bool
print_option (FILE *out, const char *key, const char *value,
              const struct parent *parent)
{
  return (ftell (out) == 0 || putc (',', out) != EOF) &&
    print_prefix (out, parent) && fprintf (out, "%s=", key) > 0 &&
    print_value (out, value);
}

static bool
print_options (FILE *out, struct json_object *options,
               const struct parent *parent)
{
  json_object_object_foreach (options, key, value) {
    const struct parent node = { .parent = parent, .name = key };

    if (json_object_is_type (value, json_type_object)
        ? !print_options (out, value, &node)
        : !print_option (out, key, value ? json_object_get_string (value) : "",
                         parent))
      return false;
  }
  return true;
}

/* The option string starts with the driver, and so never with "json:". */
static bool
print_option_string (FILE *out, struct json_object *options)
{
  return print_options (out, options, NULL);
}

/* Returns what PRINT prints, or NULL if there is no memory. */
static char *
to_text (struct json_object *options,
         bool (*print) (FILE *out, struct json_object *options))
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);
  bool printed;

  if (!out)
    return NULL;
  printed = print (out, options);
  if (memstream_close (out, &text) && printed)
    return text;
  free (text);
  return NULL;
}

char *
qemuopts_target (struct json_object *options, bool force_share)
{
  if (!add_string (options, "read-only", "on") ||
      (force_share && !add_string (options, "force-share", "on")))
    return NULL;
  return to_text (options, fits_json (options) ? print_json_name
                                               : print_option_string);
}

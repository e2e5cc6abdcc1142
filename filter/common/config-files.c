/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that parameters name.  See config-files.h.
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/same-file.h"
#include "common/config-files.h"

struct config_file {
  struct config_file *next;
  char *path;                   /* absolute; NULL if the value is empty */
  const char *value;            /* to be passed on; NULL: a parameter of this
                                 * filter */
  char key[];
};

/* In the order of the parameters.  Changed only in .config and in .unload. */
static struct config_file *files, **files_end = &files;

/* The function of nbdkit that passes on a parameter, and its argument. */
static nbdkit_next_config *next_config;
static nbdkit_backend *next_backend;

static int
add (const char *key, const char *path, const char *value)
{
  struct config_file *file = malloc (sizeof *file + strlen (key) + 1);

  if (!file) {
    nbdkit_error ("%s: %m", key);
    return -1;
  }
  strcpy (file->key, key);
  file->value = value;
  file->path = *path == '\0' ? NULL : nbdkit_absolute_path (path);
  if (!file->path && *path != '\0') {
    free (file);
    return -1;
  }
  file->next = NULL;
  *files_end = file;
  files_end = &file->next;
  return 0;
}

int
config_files_config (nbdkit_next_config *next, nbdkit_backend *backend,
                     const char *key, const char *value,
                     enum param_result (*store) (const char *key,
                                                 const char *value))
{
  enum param_result r = store (key, value);

  if (r != PARAM_UNKNOWN)
    return r == PARAM_STORED ? 0 : -1;
  next_config = next;
  next_backend = backend;
  return add (key, value, value);
}

int
config_files_pass_on (void)
{
  const struct config_file *file;

  for (file = files; file; file = file->next)
    if (file->value &&
        next_config (next_backend, file->key, file->value) == -1)
      return -1;
  return 0;
}

enum param_result
config_files_parse (const char *key, const char *value, const char **result)
{
  char *path = nbdkit_absolute_path (value);

  if (!path)
    return PARAM_INVALID;
  if (add (key, path, NULL) == -1) {
    free (path);
    return PARAM_INVALID;
  }
  *result = nbdkit_strdup_intern (path);
  free (path);
  return *result ? PARAM_STORED : PARAM_INVALID;
}

int
config_files_check (const char *param, const char *path)
{
  const struct config_file *file;
  struct stat a, b;

  if (stat (path, &a) == -1)
    return 0;
  for (file = files; file; file = file->next)
    if (strcmp (file->key, param) != 0 && file->path &&
        stat (file->path, &b) == 0 && same_disk (&a, &b)) {
      nbdkit_error ("%s and %s are the same file: %s", param, file->key, path);
      return -1;
    }
  return 0;
}

void
config_files_free (void)
{
  while (files) {
    struct config_file *file = files;

    files = file->next;
    free (file->path);
    free (file);
  }
  files_end = &files;
}

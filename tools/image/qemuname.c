/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A name with a colon before its first slash starts with a protocol.  The two
 * lists below are of the protocols that read raw (flat) data.  Other protocols
 * (json:, blkdebug:, blkverify:, fat:) define further nodes, which qemu could
 * probe.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/qemuname.h"
#include "util/error.h"

static bool
is_one_of (const char *word, size_t len, const char *const words[])
{
  for (; *words; words++)
    if (strncmp (word, *words, len) == 0 && strlen (*words) == len)
      return true;
  return false;
}

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
  return is_one_of (driver, strlen (driver), local) ||
    is_one_of (driver, strlen (driver), remote);
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

  return len == 0 || is_one_of (name, len, local) ||
    is_one_of (name, strcspn (name, "+:"), remote);
}

int
qemuname_locate (const char *from, const char *name, const char **path,
                 struct error *error)
{
  size_t len = protocol_length (name);

  *path = name;
  if (!qemuname_is_checkable (name))
    return error_about (error, from, "refused because it names '%s', which "
                        "cannot be checked: " QEMUNAME_HINT, name);
  if (len == 0)
    return 1;
  if (!is_one_of (name, len, local))
    return 0;
  *path = name + len + 1;
  return 1;
}

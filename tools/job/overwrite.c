/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "../lib/common/same-file.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest.h"
#include "io/file-read.h"
#include "io/file.h"
#include "job/overwrite.h"
#include "source/source.h"
#include "util/error.h"

static bool
is_source_file (const struct source *source, const struct stat *st)
{
  const struct files *files = source ? source->files : NULL;
  const struct file *file = files ? files->first : NULL;

  while (file && !same_file (&file->st, st))
    file = file->next;
  return file != NULL;
}

static int
refuse (const char *name, const char *why, struct error *error)
{
  return error_set (error, "%s exists, and is not a manifest that can be "
                    "replaced: %s", name, why);
}

static int
check_start (int fd, const char *name, off_t size, struct error *error)
{
  const struct read_file file = { .fd = fd, .direct_fd = -1 };
  char head[sizeof MANIFEST_MAGIC - 1];
  size_t len = MIN (size, (off_t) sizeof head);
  int err = read_range (&file, head, len, len, 0);

  if (err > 0)
    return error_errno (error, err, "cannot read %s", name);
  if (err == 0 && memcmp (head, MANIFEST_MAGIC, len) == 0)
    return 0;
  return refuse (name, "it does not begin like a manifest", error);
}

/* Check the records.  The sum is not computed, so this takes only as long as
 * reading the file.
 */
static int
check_records (int fd, const char *name, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  return manifest_validate (fd, reason, sizeof reason) == 0
    ? 0 : refuse (name, reason, error);
}

int
overwrite_check (int fd, const char *name, enum overwrite_policy policy,
                 const struct source *source, struct error *error)
{
  struct stat st;

  if (fstat (fd, &st) == -1)
    return error_errno (error, errno, "cannot replace %s", name);
  if (!S_ISREG (st.st_mode))
    return error_set (error, "%s is not a regular file: a manifest cannot "
                      "replace it", name);
  if (is_source_file (source, &st))
    return error_set (error, "%s cannot be both the image and its manifest",
                      name);
  if (st.st_size == 0)
    return 0;
  return policy == OVERWRITE_CHECK_START
    ? check_start (fd, name, st.st_size, error)
    : check_records (fd, name, error);
}

int
overwrite_check_path (const char *path, const struct source *source,
                      struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

  if (fd == -1)
    return errno == ENOENT ? 0
      : error_errno (error, errno, "cannot replace %s", path);
  r = overwrite_check (fd, path, OVERWRITE_CHECK_ALL, source, error);
  close (fd);
  return r;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a dirty bitmap belongs to a manifest.
 *
 * The sum is at the end of a manifest.  The check must pass before anything is
 * hashed, and before an audit can find a difference.  So the manifest is read
 * twice.
 */

#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "blkhash-manifest.h"
#include "blkhash.h"

#include "../lib/common/sum-line.h"
#include "changes/bitmap-name.h"
#include "job/bitmap-check.h"
#include "util/error.h"

/* Store the sum in HEX, in hexadecimal digits.  Returns 0, or -1 with the
 * reason.
 */
static int
read_sum (struct blkhash_manifest_reader *r, const char *name, char *hex,
          struct error *error)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_run run;
  unsigned md_len;
  int err;

  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  if (err != ENOENT)
    return error_set (error, "%s: %s", name,
                      blkhash_manifest_reader_error (r));
  if (blkhash_manifest_reader_sum (r, md, &md_len) != 0)
    return error_set (error, "%s is the manifest of a part of an image, which "
                      "has no sum", name);
  sum_line_hex (md, md_len, hex);
  return 0;
}

static int
check (const char *bitmap, int fd, const char *name, struct error *error)
{
  char reason[BLKHASH_MAX_REASON_SIZE], hex[SUM_HEX_SIZE];
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, 0, reason, sizeof reason);
  int status;

  if (!r)
    return error_set (error, "%s: %s", name, reason);
  status = read_sum (r, name, hex, error);
  if (status == 0)
    status = bitmap_name_check (bitmap, hex, error);
  blkhash_manifest_reader_free (r);
  return status;
}

int
bitmap_check_manifest (const char *bitmap, int fd, const char *name,
                       struct error *error)
{
  off_t start;

  if (!bitmap_name_has_sum (bitmap))
    return 0;
  start = lseek (fd, 0, SEEK_CUR);
  if (start == -1)
    return error_errno (error, errno, "cannot read %s twice, to check that "
                        "the dirty bitmap belongs to it", name);
  if (check (bitmap, fd, name, error) == -1)
    return -1;
  if (lseek (fd, start, SEEK_SET) == -1)
    return error_errno (error, errno, "cannot read %s", name);
  return 0;
}

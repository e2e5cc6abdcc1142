/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image in a format that qemu has to read for us.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/output.h"
#include "image/image.h"
#include "io/files.h"
#include "nbd/extents.h"
#include "nbd/read.h"
#include "source/direct.h"
#include "source/qemu-image.h"
#include "source/source.h"
#include "util/error.h"

/* Start qemu-nbd and connect to it. */
static int
start (struct qemu_image *qi, bool cache, struct error *error)
{
  struct nbd_handle *nbd;

  if (qemu_image_start (qi, cache, error) == -1)
    return -1;
  nbd = nbd_handle_create (qi->options->extents, error);
  if (nbd && qemu_image_connect (qi, nbd, error) == 0)
    return 0;
  qemu_image_stop (qi);
  return -1;
}

/* Direct I/O leaves the page cache as it is, but not every file system has
 * it.
 */
static int
start_with_cache (struct qemu_image *qi, struct error *error)
{
  struct error first = { "" };

  if (!qi->options->cache && start (qi, false, &first) == 0)
    return 0;
  return start (qi, true, error);
}

static int
hash_by_nbd (struct qemu_image *qi, struct sum *sum, struct error *error)
{
  int r;

  if (start_with_cache (qi, error) == -1)
    return -1;
  r = nbd_read_and_hash (qi->options, &qi->nbd, 1, qi->size, sum, error);
  qi->nbd = NULL;               /* it was closed */
  if (r == -1)
    qemu_image_explain (qi, error);
  qemu_image_stop (qi);
  return r == 0 ? files_check_unchanged (qi->files, error) : -1;
}

/* For tests, and for whoever trusts qemu more than us. */
static bool
may_read_directly (void)
{
  const char *value = getenv ("BLKSUM_DIRECT");

  return !value || strcmp (value, "0") != 0;
}

int
source_qemu_hash (const struct options *options, const struct file *file,
                  const char *operand, const struct image *image,
                  struct files *files, struct sum *sum, struct error *error)
{
  struct qemu_image qi = {
    .options = options, .file = file, .operand = operand, .image = image,
    .files = files
  };
  int r = 0;

  snprintf (sum->format, sizeof sum->format, "%s", image->format);
  if (may_read_directly ())
    r = source_direct_hash (&qi, sum, error);
  return r == 0 ? hash_by_nbd (&qi, sum, error) : r == 1 ? 0 : -1;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "source/qemu.h"
#include "source/qemu-image.h"
#include "source/source.h"
#include "util/error.h"

struct qemu {
  struct source source;
  struct qemu_image qi;         /* connected */
};

static int
qemu_scan (struct source *source, struct scan *scan)
{
  return qemu_image_scan (&((struct qemu *) source)->qi, source->size, scan);
}

static int
qemu_check_unchanged (struct source *source, struct error *error)
{
  return files_check_unchanged (&((struct qemu *) source)->qi.files, error);
}

static void
qemu_close (struct source *source)
{
  qemu_image_destroy (&((struct qemu *) source)->qi);
  free (source);
}

static const struct source_ops qemu_ops = {
  .scan = qemu_scan,
  .check_unchanged = qemu_check_unchanged,
  .close = qemu_close,
};

int
qemu_open (const struct qemu_image *qi, struct source **source,
           struct error *error)
{
  struct qemu *qemu = malloc (sizeof *qemu);

  if (!qemu)
    return error_errno (error, errno, "cannot read");
  *qemu = (struct qemu) { .source.ops = &qemu_ops, .qi = *qi };
  if (qemu_image_serve (&qemu->qi, error) == -1) {
    free (qemu);
    return -1;
  }
  qemu->source.size = qemu->qi.size;
  qemu->source.files = &qemu->qi.files;
  snprintf (qemu->source.format, sizeof qemu->source.format, "%s",
            qi->info.format);
  *source = &qemu->source;
  return 0;
}

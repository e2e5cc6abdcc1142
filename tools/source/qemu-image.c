/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image that qemu-nbd exports to this process, and the source whose whole
 * image qemu reads.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "image/qemuopts.h"
#include "io/file.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "read/scan.h"
#include "source/source-private.h"
#include "source/source.h"
#include "util/error.h"
#include "util/source-options.h"

/* Returns the path for qemu.  An image whose format was probed is opened by its
 * descriptor, so that qemu opens the inspected file even if the path now names
 * another file.  Without /proc it is opened by its path, and check_opened
 * checks that it is the same file.
 */
static const char *
path_of (const struct qemu_image *qi)
{
  if (qi->info.probed && access ("/proc/self/fd", F_OK) == 0)
    return QEMU_NBD_IMAGE_PATH;
  return qi->operand;
}

/* Returns an option string, or a json: file name. */
static char *
target_of (const struct qemu_image *qi)
{
  return image_qemu_opts (&qi->info, path_of (qi),
                          file_is_block_device (qi->file),
                          qi->options->force_share);
}

static int
fd_to_pass (const struct qemu_image *qi)
{
  return qi->info.probed ? qi->file->fd : -1;
}

int
qemu_image_start (struct qemu_image *qi, bool cache, struct error *error)
{
  const char *argv[6] = { "qemu-nbd", "--read-only" };
  size_t n = 2;
  int r;

  qi->target = target_of (qi);
  if (!qi->target)
    r = error_errno (error, ENOMEM, "cannot start qemu-nbd");
  else {
    argv[n++] = cache ? "--cache=writeback" : "--cache=none";
    if (!qemuopts_is_json (qi->target))
      argv[n++] = "--image-opts";
    argv[n++] = qi->target;
    r = qemu_nbd_start (&qi->qemu, (char *const *) argv, fd_to_pass (qi),
                        error);
  }
  if (r == -1) {
    free (qi->target);
    qi->target = NULL;
  }
  return r;
}

/* qemu rounds the size of the disk up (vdi) or down (qcow2 and others) to whole
 * sectors.  The exact size is hashed; what qemu does not read cannot be.
 */
static int
set_size (struct qemu_image *qi, uint64_t size, struct error *error)
{
  uint64_t exact = qi->info.size;

  if (exact > 0 && (size < exact || size - exact >= 512))
    return error_set (error, "refused because its disk has %" PRIu64 " bytes, "
                      "and qemu would read %" PRIu64, exact, size);
  qi->size = exact > 0 ? exact : size;
  return 0;
}

/* The image was inspected before qemu opened it.  In between, a process that
 * writes it could have changed the header to name another file, or replaced the
 * file.
 */
static int
check_opened (const struct qemu_image *qi, struct error *error)
{
  return qi->info.probed
    ? qemu_nbd_check_files (&qi->qemu, &qi->file->st, error) : 0;
}

static void
disconnect (struct qemu_image *qi)
{
  if (qi->nbd)
    nbd_close (qi->nbd);
  qi->nbd = NULL;
}

void
qemu_image_refine_error (struct qemu_image *qi, struct error *error)
{
  disconnect (qi);
  qemu_nbd_refine_error (&qi->qemu, qi->target, qi->operand, error);
}

int
qemu_image_connect (struct qemu_image *qi, struct nbd_handle *nbd,
                    struct error *error)
{
  int sock = qi->qemu.sock;
  int64_t size;

  qi->nbd = nbd;
  qi->qemu.sock = -1;           /* libnbd closes it, also on error */
  if (nbd_connect_socket (nbd, sock) == -1) {
    error_set (error, "cannot connect to qemu-nbd: %s", nbd_error_text ());
    qemu_image_refine_error (qi, error);
    return -1;
  }
  size = nbd_get_size (nbd);
  if (size < 0)
    return error_set (error, "cannot get the size");
  if (set_size (qi, size, error) == -1)
    return -1;
  return check_opened (qi, error);
}

void
qemu_image_stop (struct qemu_image *qi)
{
  if (!qi->target)
    return;
  disconnect (qi);
  qemu_nbd_stop (&qi->qemu);
  free (qi->target);
  qi->target = NULL;
}

void
qemu_image_destroy (struct qemu_image *qi)
{
  qemu_image_stop (qi);
  image_info_destroy (&qi->info);
  files_close (&qi->files);
}

static int
start_and_connect (struct qemu_image *qi, bool cache, struct error *error)
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

/* Direct I/O leaves the page cache unchanged, but not every file system
 * supports it.
 */
int
qemu_image_serve (struct qemu_image *qi, struct error *error)
{
  struct error first = { "" };

  if (!qi->options->cache && start_and_connect (qi, false, &first) == 0)
    return 0;
  return start_and_connect (qi, true, error);
}

/* ---- Damaged data ---- */

#define GRAIN 65536             /* bytes: the usual size of compressed grains */
#define MAX_SEARCH (2 * SOURCE_MEMORY) /* bytes: more than the reads in flight
                                        * and the data that waits to be hashed
                                        */

/* Find data that qemu cannot read in the part of the image that is missing in
 * SCAN.  qemu-nbd ends a connection on such data, and does not say which of the
 * reads in flight has failed.  So start it again, and read one grain at a time.
 * Returns true and sets *OFFSET, or false if nothing was found.
 */
static bool
find_damage (struct qemu_image *qi, uint64_t size, struct scan *scan,
             uint64_t *offset)
{
  struct error ignored = { "" };
  unsigned char grain[GRAIN];
  uint64_t len, from = 0, left = MAX_SEARCH;

  qemu_image_stop (qi);
  if (qemu_image_serve (qi, &ignored) == -1)
    return false;
  while (left > 0 &&
         scan_missing_at (scan, from, offset, &len, &ignored) == NEXT_FOUND &&
         *offset < size) {
    len = MIN (MIN (len, size - *offset), GRAIN - *offset % GRAIN);
    len = MIN (len, left);
    if (nbd_pread (qi->nbd, grain, len, *offset, 0) == -1)
      return true;
    from = *offset + len;
    left -= len;
  }
  return false;
}

static bool
has_vmdk (const struct qemu_image *qi)
{
  const struct layer *layer = qi->info.top.backing;

  if (strcmp (qi->info.format, "vmdk") == 0)
    return true;
  while (layer && strcmp (layer->format, "vmdk") != 0)
    layer = layer->backing;
  return layer;
}

/* For compressed data that it cannot decompress, qemu's driver for vmdk returns
 * EINVAL, which it does not return for failures of the storage.
 */
static void
explain_damage (struct qemu_image *qi, uint64_t size, struct scan *scan)
{
  uint64_t offset;

  if (!has_vmdk (qi) ||
      !strstr (scan->error.text, "reading from file failed: Invalid argument"))
    return;
  if (!find_damage (qi, size, scan, &offset))
    return;
  scan->error = (struct error) { "" };
  error_set (&scan->error, "compressed data at offset %" PRIu64 " of the disk "
             "is damaged", offset);
}

int
qemu_image_scan (struct qemu_image *qi, uint64_t size, struct scan *scan)
{
  unsigned conns = qi->nbd != NULL;
  int r = nbd_export_scan (qi->options, &qi->nbd, &conns, NULL, size, scan);

  if (conns == 0)
    qi->nbd = NULL;             /* it was closed */
  if (r == 0)
    return 0;
  qemu_image_refine_error (qi, &scan->error);
  explain_damage (qi, size, scan);
  return -1;
}

/* ---- The source ---- */

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

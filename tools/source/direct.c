/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source that finds in the tables of an image where its data is stored.  The
 * reader reads the data from the files of the image, without qemu.  qemu-nbd
 * reads only the data that is compressed, not aligned to pages, or described by
 * invalid entries.
 *
 * qemu-nbd starts in the background while data is already being read.  It keeps
 * the image open to the end, because it holds the locks and checks the image.
 * If it refuses the image, it is started a second time, to read all missing
 * ranges.  If it refuses the image again, its error is reported.  For digests
 * of the content, which need all data once, it is started before data is read.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "image/layer.h"
#include "io/file.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "read/image-reader.h"
#include "read/scan.h"
#include "source/source-private.h"
#include "source/source.h"
#include "util/error.h"
#include "util/source-options.h"

#define SECTOR 512              /* bytes */

struct direct {
  struct source source;
  struct qemu_image qi;

  /* Used by the thread whose turn it is: see reader-ranges.h.  chain.size is
   * constant.
   */
  struct chain chain;
  struct file_extent found;     /* the last extent of a file */

  pthread_mutex_t lock;         /* protects the fields below while threads read
                                 */
  pthread_cond_t has_started;
  enum { STARTING, SERVING, REFUSED } qemu;
  bool qemu_failed;             /* qemu-nbd failed to read */
};

/* What is in a hole of a file is zero, too.  The extent of the file is cached:
 * it often spans many extents of the disk, and finding its end takes long on a
 * tmpfs (see find_end_of_data in io/file.c).
 */
static int
direct_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                  struct error *error)
{
  struct direct *direct = opaque;
  const struct place *place = &extent->place[0];

  if (chain_find_extent (&direct->chain, offset, extent, error) == -1)
    return -1;
  if (place->kind != PLACE_FILE || !file_is_sparse (place->file))
    return 0;
  if (file_extent_find (&direct->found, place->file, place->host, error) == -1)
    return -1;
  extent->len = MIN (direct->found.end - place->host, extent->len);
  extent->zero = direct->found.hole;
  return 0;
}

/* ---- Reads by qemu ---- */

static bool
wait_for_qemu (struct direct *direct)
{
  SCOPED_LOCK (&direct->lock);

  while (direct->qemu == STARTING)
    pthread_cond_wait (&direct->has_started, &direct->lock);
  return direct->qemu == SERVING;
}

/* Returns the length of RANGE, rounded up to whole sectors, but not beyond the
 * disk: qemu would read the whole last sector anyway.
 */
static uint64_t
whole_sectors (const struct direct *direct, const struct range *range)
{
  uint64_t len = ROUND_UP (range->len, (uint64_t) SECTOR);

  return MIN (len, direct->chain.size - range->offset);
}

/* Any thread can call this.  libnbd serializes the calls on a connection. */
static int
direct_read (void *opaque, const struct range *range, void *buf,
             struct error *error)
{
  struct direct *direct = opaque;

  if (!wait_for_qemu (direct))
    return error_set (error, "qemu-nbd refused the image");
  if (nbd_pread (direct->qi.nbd, buf, whole_sectors (direct, range),
                 range->offset, 0) == 0)
    return 0;

  SCOPED_LOCK (&direct->lock);
  direct->qemu_failed = true;
  return error_set (error, "cannot read at offset %" PRIu64 ": %s",
                    range->offset, nbd_error_text ());
}

/* ---- The source ---- */

static int
connect_to_qemu (struct direct *direct, struct error *error)
{
  struct qemu_image *qi = &direct->qi;
  struct nbd_handle *nbd = nbd_handle_create (false, error);

  if (!nbd)
    return -1;
  /* A structured reply can lack data, which older versions of libnbd accept. */
  nbd_set_request_structured_replies (nbd, false);
  return qemu_image_connect (qi, nbd, error);
}

static int
direct_begin (void *opaque, struct error *error)
{
  struct direct *direct = opaque;
  int r = connect_to_qemu (direct, error);
  SCOPED_LOCK (&direct->lock);

  direct->qemu = r == 0 ? SERVING : REFUSED;
  pthread_cond_broadcast (&direct->has_started);
  return r;
}

/* Start qemu-nbd again to read the missing ranges, with the page cache if it
 * refuses the image with direct I/O.
 */
static int
scan_by_qemu (struct direct *direct, struct scan *scan)
{
  scan->error = (struct error) { "" };
  qemu_image_stop (&direct->qi);
  if (qemu_image_serve (&direct->qi, &scan->error) == -1)
    return -1;
  return qemu_image_scan (&direct->qi, direct->source.size, scan);
}

static void
direct_refine_error (void *opaque, struct error *error)
{
  struct direct *direct = opaque;
  struct error changed = { "" };

  if (direct->qemu_failed)
    qemu_image_refine_error (&direct->qi, error);
  /* If the files changed, that is the cause of a failed read. */
  else if (files_check_unchanged (&direct->qi.files, &changed) == -1)
    *error = changed;
}

static struct image_ops
image_ops_of (struct direct *direct)
{
  return (struct image_ops) {
    .size = direct->source.size,
    .opaque = direct,
    .extent_at = direct_extent_at,
    .read = direct_read,
    .whole_pages = true,
    .joins = true,              /* qemu-img stores no hole: the data around a
                                 * hole is adjacent in the file */
    .begin = direct->qemu == STARTING ? direct_begin : NULL,
    .refine_error = direct_refine_error,
  };
}

/* Returns false if qemu refuses the image: then only direct_scan can read. */
static bool
direct_image (struct source *source, struct image_ops *image)
{
  struct direct *direct = (struct direct *) source;
  struct error error = { "" };

  if (direct->qemu == STARTING)
    direct_begin (direct, &error);
  *image = image_ops_of (direct);
  return direct->qemu == SERVING;
}

static int
direct_scan (struct source *source, struct scan *scan)
{
  struct direct *direct = (struct direct *) source;
  struct image_ops image;
  struct error refused = { "" };

  if (scan->request.content && direct->qemu == STARTING)
    direct_begin (direct, &refused);
  if (direct->qemu == REFUSED)
    return scan_by_qemu (direct, scan);
  image = image_ops_of (direct);
  if (image_reader_scan (&image, direct->qi.options, scan) == 0)
    return 0;
  if (direct->qemu == REFUSED)
    return scan_by_qemu (direct, scan);
  direct_refine_error (direct, &scan->error);
  return -1;
}

static int
direct_check_unchanged (struct source *source, struct error *error)
{
  const struct direct *direct = (struct direct *) source;

  if (qemu_nbd_check_running (&direct->qi.qemu, error) == -1)
    return -1;
  return files_check_unchanged (&direct->qi.files, error);
}

static void
free_direct (struct direct *direct)
{
  pthread_cond_destroy (&direct->has_started);
  pthread_mutex_destroy (&direct->lock);
  chain_close (&direct->chain);
  free (direct);
}

static void
direct_close (struct source *source)
{
  struct direct *direct = (struct direct *) source;

  qemu_image_destroy (&direct->qi);
  free_direct (direct);
}

static const struct source_ops direct_ops = {
  .scan = direct_scan,
  .image = direct_image,
  .check_unchanged = direct_check_unchanged,
  .close = direct_close,
};

/* ---- Opening ---- */

/* qemu reads the whole image if other programs may write it (--force-share), or
 * with --no-extents.  BLKSUM_DIRECT=0 disables direct reads of any image, for
 * tests, and for users who trust only qemu.
 */
static bool
is_enabled (const struct qemu_image *qi)
{
  const char *value = getenv ("BLKSUM_DIRECT");

  return (!value || strcmp (value, "0") != 0) &&
    !qi->options->force_share && qi->options->extents;
}

/* Returns the same as direct_open. */
static enum direct_opened
start (struct direct *direct, struct error *error)
{
  struct qemu_image *qi = &direct->qi;
  const struct qcow2_count *clusters = &direct->chain.clusters;
  struct error refused = { "" };
  bool cache;
  enum answer answer = chain_open (&direct->chain, &qi->info.top, error);

  if (answer != ANSWER_YES)
    return answer == ANSWER_NO ? DIRECT_QEMU : DIRECT_ERROR;
  /* For compressed data, direct_read would have only one read in flight. */
  if (clusters->compressed > clusters->plain)
    return DIRECT_QEMU;
  files_start_reading (&qi->files);
  cache = qi->options->cache || !files_support_direct (&qi->files);
  return qemu_image_start (qi, cache, &refused) == 0 ? DIRECT_OPENED
                                                     : DIRECT_QEMU;
}

enum direct_opened
direct_open (const struct qemu_image *qi, struct source **source,
             struct error *error)
{
  enum direct_opened opened;
  struct direct *direct;

  if (!is_enabled (qi))
    return DIRECT_QEMU;
  direct = calloc (1, sizeof *direct);
  if (!direct) {
    error_errno (error, errno, "cannot read");
    return DIRECT_ERROR;
  }
  direct->qi = *qi;
  pthread_mutex_init (&direct->lock, NULL);
  pthread_cond_init (&direct->has_started, NULL);
  opened = start (direct, error);
  if (opened != DIRECT_OPENED) {
    free_direct (direct);
    return opened;
  }
  direct->source.ops = &direct_ops;
  direct->source.size = direct->chain.size;
  direct->source.files = &direct->qi.files;
  strcpy (direct->source.format, qi->info.format);
  *source = &direct->source;
  return DIRECT_OPENED;
}

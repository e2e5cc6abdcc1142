/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file, block device or NBD export in which blocks are
 * replaced.
 */

#include <config.h>

#include <string.h>

#include "io/file.h"
#include "io/files.h"
#include "nbd/write.h"
#include "source/nbd-uri.h"
#include "source/open.h"
#include "source/source.h"
#include "source/target.h"
#include "util/error.h"

struct target_ops {
  int (*open) (struct target *target, struct error *error);
  void (*begin_scan) (const struct target *target);
  int (*end_scan) (const struct target *target, struct error *error);
  int (*check_same) (const struct target *target, struct error *error);
  int (*read) (const struct target *target, void *buf, size_t len,
               uint64_t offset, struct error *error);
  int (*write) (const struct target *target, const void *buf, size_t len,
                uint64_t offset, struct error *error);
  int (*sync) (const struct target *target, struct error *error);
  int (*check_uncached) (const struct target *target, size_t len,
                         uint64_t offset, struct error *error);
  void (*close) (struct target *target);
};

/* ---- A file ---- */

static int
open_file (struct target *target, struct error *error)
{
  if (strcmp (target->operand, "-") == 0)
    return error_set (error, "standard input cannot be repaired");
  if (direct_file_open (&target->file, target->operand, target->read_only,
                        error) == -1)
    return -1;
  target->align = target->file.align;
  target->id = disk_id_of (target->file.fd, &target->file.st);
  if (source_open_raw (&target->options, target->file.fd, &target->source,
                       error) == 0)
    return 0;
  direct_file_close (&target->file);
  return -1;
}

static void
begin_scan_file (const struct target *target)
{
  (void) target;
}

static int
end_scan_file (const struct target *target, struct error *error)
{
  return direct_file_check_unmodified (&target->file, error);
}

static int
check_same_file (const struct target *target, struct error *error)
{
  return direct_file_check_same (&target->file, error);
}

static int
read_file (const struct target *target, void *buf, size_t len, uint64_t offset,
           struct error *error)
{
  return direct_file_read (&target->file, buf, len, offset, error);
}

static int
write_file (const struct target *target, const void *buf, size_t len,
            uint64_t offset, struct error *error)
{
  return direct_file_write (&target->file, buf, len, offset, error);
}

static int
sync_file (const struct target *target, struct error *error)
{
  return direct_file_sync (&target->file, error);
}

static int
check_uncached_file (const struct target *target, size_t len, uint64_t offset,
                     struct error *error)
{
  return direct_file_check_uncached (&target->file, len, offset, error);
}

static void
close_file (struct target *target)
{
  source_close (target->source);
  direct_file_close (&target->file);
}

static const struct target_ops file_ops = {
  .open = open_file, .begin_scan = begin_scan_file, .end_scan = end_scan_file,
  .check_same = check_same_file, .read = read_file, .write = write_file,
  .sync = sync_file, .check_uncached = check_uncached_file,
  .close = close_file,
};

/* ---- An NBD export ---- */

#ifdef HAVE_LIBNBD

/* Returns the connection, or NULL with the reason in ERROR if it was lost. */
static struct nbd_handle *
find_connection (const struct target *target, struct error *error)
{
  struct nbd_handle *nbd = nbd_uri_handle (target->source);

  if (!nbd)
    error_set (error, "lost the connection");
  return nbd;
}

static int
flush_export (const struct target *target, struct error *error)
{
  struct nbd_handle *nbd = find_connection (target, error);

  return nbd ? nbd_write_flush (nbd, error) : -1;
}

/* Open the export without querying extents, because the server could report a
 * bad block as zero.  Flush it, because the server can have a cache, and the
 * data that is read must be on its storage.
 */
static int
open_export (struct target *target, struct error *error)
{
  target->options.extents = false;
  if (nbd_uri_open_single (&target->options, target->operand, &target->source,
                           error) == -1)
    return -1;
  if (nbd_write_check (nbd_uri_handle (target->source), target->read_only,
                       &target->align, error) == 0 &&
      (target->read_only || flush_export (target, error) == 0))
    return 0;
  source_close (target->source);
  return -1;
}

static int
check_connected (const struct target *target, struct error *error)
{
  return find_connection (target, error) ? 0 : -1;
}

static void
begin_scan_export (const struct target *target)
{
  nbd_uri_connect_others (target->source, target->operand);
}

static int
end_scan_export (const struct target *target, struct error *error)
{
  nbd_uri_close_others (target->source);
  return check_connected (target, error);
}

static int
read_export (const struct target *target, void *buf, size_t len,
             uint64_t offset, struct error *error)
{
  struct nbd_handle *nbd = find_connection (target, error);

  return nbd ? nbd_write_read (nbd, buf, len, offset, error) : -1;
}

static int
write_export (const struct target *target, const void *buf, size_t len,
              uint64_t offset, struct error *error)
{
  struct nbd_handle *nbd = find_connection (target, error);

  return nbd ? nbd_write_write (nbd, buf, len, offset, error) : -1;
}

static int
check_uncached_export (const struct target *target, size_t len,
                       uint64_t offset, struct error *error)
{
  (void) target; (void) len; (void) offset; (void) error;
  return 0;
}

static void
close_export (struct target *target)
{
  source_close (target->source);
}

/* check_same needs no size check, because the size of an export is fixed for a
 * connection.
 */
static const struct target_ops export_ops = {
  .open = open_export, .begin_scan = begin_scan_export,
  .end_scan = end_scan_export, .check_same = check_connected,
  .read = read_export, .write = write_export, .sync = flush_export,
  .check_uncached = check_uncached_export, .close = close_export,
};

#else

static int
open_export (struct target *target, struct error *error)
{
  (void) target;
  return error_set (error, "blksum was built without NBD");
}

static const struct target_ops export_ops = { .open = open_export };

#endif

/* ---- Both ---- */

/* Check that the image of EXPECTED bytes is the whole disk or, with --size,
 * its first bytes.
 */
static int
check_size (struct target *target, uint64_t expected, struct error *error)
{
  unsigned long long full = target->source->size, size = expected;
  unsigned long long option = target->options.size;

  if (option == SOURCE_WHOLE && full != size)
    return error_set (error, "has %llu bytes, but the image of the manifest "
                      "has %llu%s", full, size, full > size
                      ? "; --size is for an image on a larger disk" : "");
  if (option != SOURCE_WHOLE && full < option)
    return error_set (error, "has only %llu bytes, fewer than the %llu of "
                      "--size", full, option);
  if (option != SOURCE_WHOLE && option != size)
    return error_set (error, "--size is %llu bytes, but the image of the "
                      "manifest has %llu", option, size);
  target->size = target->source->size = size;
  return 0;
}

int
target_open (struct target *target, uint64_t size, bool read_only,
             struct error *error)
{
  target->ops = source_is_uri (target->operand) ? &export_ops : &file_ops;
  target->read_only = read_only;
  if (target->ops->open (target, error) == -1)
    return -1;
  target->source->full_size = target->source->size;
  if (check_size (target, size, error) == 0)
    return 0;
  target_close (target);
  return -1;
}

void
target_close (struct target *target)
{
  target->ops->close (target);
}

bool
target_is_operand (const struct target *target, const char *operand)
{
  struct disk_id id;

  if (source_is_uri (operand) || target->ops == &export_ops)
    return strcmp (target->operand, operand) == 0;
  return disk_id_of_path (operand, &id) && disk_id_is_same (&target->id, &id);
}

bool
target_is_in (const struct target *target, const struct source *source)
{
  return target->ops == &file_ops &&
    disk_id_is_in (&target->id, source->files);
}

void
target_begin_scan (const struct target *target)
{
  target->ops->begin_scan (target);
}

int
target_end_scan (const struct target *target, struct error *error)
{
  return target->ops->end_scan (target, error);
}

int
target_check_same (const struct target *target, struct error *error)
{
  return target->ops->check_same (target, error);
}

int
target_read (const struct target *target, void *buf, size_t len,
             uint64_t offset, struct error *error)
{
  return target->ops->read (target, buf, len, offset, error);
}

int
target_write (const struct target *target, const void *buf, size_t len,
              uint64_t offset, struct error *error)
{
  return target->ops->write (target, buf, len, offset, error);
}

int
target_read_back (const struct target *target, void *buf, size_t len,
                  uint64_t offset, struct error *error)
{
  if (target->ops->read (target, buf, len, offset, error) == -1)
    return -1;
  return target->ops->check_uncached (target, len, offset, error);
}

int
target_sync (const struct target *target, struct error *error)
{
  return target->ops->sync (target, error);
}

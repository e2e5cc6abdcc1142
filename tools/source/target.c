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
#include "source/open.h"
#include "source/source.h"
#include "source/target.h"
#include "util/error.h"

struct target_ops {
  int (*open) (struct target *target, struct error *error);
  int (*begin_scan) (struct target *target, struct error *error);
  int (*end_scan) (struct target *target, struct error *error);
  int (*read) (const struct target *target, void *buf, size_t len,
               uint64_t offset, struct error *error);
  int (*write) (const struct target *target, const void *buf, size_t len,
                uint64_t offset, struct error *error);
  int (*sync) (const struct target *target, struct error *error);
  void (*close) (struct target *target);
};

/* ---- The size ---- */

static int
refuse_size (struct error *error)
{
  return error_set (error, "changed its size after it was read; nothing was "
                    "written");
}

/* The image is all of the disk, or the first bytes of it. */
static int
check_size (const struct target *target, struct error *error)
{
  unsigned long long full = target->full_size, size = target->size;
  unsigned long long option = target->options.size;

  if (option == SOURCE_WHOLE && full != size)
    return error_set (error, "has %llu bytes, but the image of the manifest has "
                      "%llu%s", full, size, full > size
                      ? "; --size is for an image on a larger disk" : "");
  if (option != SOURCE_WHOLE && full < option)
    return error_set (error, "has only %llu bytes, fewer than the %llu of "
                      "--size", full, option);
  if (option != SOURCE_WHOLE && option != size)
    return error_set (error, "--size is %llu bytes, but the image of the "
                      "manifest has %llu", option, size);
  return 0;
}

/* ---- A file ---- */

/* A raw source has one file. */
static int
open_reader (struct target *target, struct error *error)
{
  struct file *file;

  if (source_open_raw (&target->options, target->file.fd, &target->source,
                       error) == -1)
    return -1;
  file = source_files (target->source)->first;
  write_file_set_reader (&target->file, file);
  target->id = disk_id_of (file->fd, &file->st);
  target->full_size = target->source->full_size;
  target->source->size = target->size;
  return 0;
}

static int
open_file (struct target *target, struct error *error)
{
  if (strcmp (target->operand, "-") == 0)
    return error_set (error, "standard input cannot be repaired");
  if (write_file_open (&target->file, target->operand, target->read_only,
                       error) == -1)
    return -1;
  if (open_reader (target, error) == 0)
    return 0;
  write_file_close (&target->file);
  return -1;
}

static int
begin_scan_file (struct target *target, struct error *error)
{
  (void) target; (void) error;
  return 0;
}

static int
end_scan_file (struct target *target, struct error *error)
{
  if (write_file_check_unmodified (&target->file, error) == -1)
    return -1;
  return write_file_check_path (&target->file, error);
}

static int
read_file (const struct target *target, void *buf, size_t len, uint64_t offset,
           struct error *error)
{
  return write_file_read (&target->file, buf, len, offset, error);
}

static int
write_file (const struct target *target, const void *buf, size_t len,
            uint64_t offset, struct error *error)
{
  return write_file_write (&target->file, buf, len, offset, error);
}

static int
sync_file (const struct target *target, struct error *error)
{
  return write_file_sync (&target->file, error);
}

static void
close_file (struct target *target)
{
  source_close (target->source);
  write_file_close (&target->file);
}

static const struct target_ops file_ops = {
  .open = open_file, .begin_scan = begin_scan_file, .end_scan = end_scan_file,
  .read = read_file, .write = write_file, .sync = sync_file,
  .close = close_file,
};

/* ---- An NBD export ---- */

#ifdef HAVE_LIBNBD

/* A block that is not aligned would have to be written together with bytes of
 * others, which can be good.
 */
static int
check_align (const struct target *target, struct error *error)
{
  unsigned long align = target->writer.align;

  if (target->block_size % align != 0)
    return error_set (error, "cannot be repaired: the server writes only "
                      "multiples of %lu bytes, and blocks of the manifest have "
                      "%lu", align, (unsigned long) target->block_size);
  if (target->size % align != 0)
    return error_set (error, "cannot be repaired: the server writes only "
                      "multiples of %lu bytes, and the last block has another "
                      "length", align);
  return 0;
}

static void
disconnect (struct target *target)
{
  if (target->connected)
    nbd_writer_close (&target->writer);
  target->connected = false;
}

static int
connect_export (struct target *target, struct error *error)
{
  if (nbd_writer_open (&target->writer, target->operand, target->read_only,
                       error) == -1)
    return -1;
  target->connected = true;
  if (check_align (target, error) == 0)
    return 0;
  disconnect (target);
  return -1;
}

/* A server can have a cache, and what is read must be on its storage. */
static int
open_export (struct target *target, struct error *error)
{
  int r = connect_export (target, error);

  if (r == 0 && !target->read_only)
    r = nbd_writer_flush (&target->writer, error);
  target->full_size = target->writer.size;
  disconnect (target);
  return r;
}

static int
begin_scan_export (struct target *target, struct error *error)
{
  if (source_open (&target->options, target->operand, &target->source,
                   error) == -1)
    return -1;
  if (target->source->full_size == target->full_size)
    return 0;
  return refuse_size (error);
}

static void
close_export (struct target *target)
{
  if (target->source)
    source_close (target->source);
  target->source = NULL;
  disconnect (target);
}

static int
end_scan_export (struct target *target, struct error *error)
{
  close_export (target);
  if (connect_export (target, error) == -1)
    return -1;
  return target->writer.size == target->full_size ? 0 : refuse_size (error);
}

static int
read_export (const struct target *target, void *buf, size_t len,
             uint64_t offset, struct error *error)
{
  return nbd_writer_read (&target->writer, buf, len, offset, error);
}

static int
write_export (const struct target *target, const void *buf, size_t len,
              uint64_t offset, struct error *error)
{
  return nbd_writer_write (&target->writer, buf, len, offset, error);
}

static int
flush_export (const struct target *target, struct error *error)
{
  return nbd_writer_flush (&target->writer, error);
}

static const struct target_ops export_ops = {
  .open = open_export, .begin_scan = begin_scan_export,
  .end_scan = end_scan_export, .read = read_export, .write = write_export,
  .sync = flush_export, .close = close_export,
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

int
target_open (struct target *target, uint64_t size, uint32_t block_size,
             bool read_only, struct error *error)
{
  bool is_uri = source_is_uri (target->operand);

  target->ops = is_uri ? &export_ops : &file_ops;
  target->size = size;
  target->block_size = block_size;
  target->read_only = read_only;
  if (target->ops->open (target, error) == -1)
    return -1;
  if (check_size (target, error) == 0)
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
    disk_id_is_in (&target->id, source_files (source));
}

int
target_begin_scan (struct target *target, struct error *error)
{
  return target->ops->begin_scan (target, error);
}

int
target_end_scan (struct target *target, struct error *error)
{
  return target->ops->end_scan (target, error);
}

int
target_check_path (const struct target *target, struct error *error)
{
  return target->ops == &file_ops
    ? write_file_check_path (&target->file, error) : 0;
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
target_sync (const struct target *target, struct error *error)
{
  return target->ops->sync (target, error);
}

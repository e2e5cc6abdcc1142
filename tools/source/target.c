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
  int (*open) (struct target *target, bool read_only, struct error *error);
  int (*read) (const struct target *target, void *buf, size_t len,
               uint64_t offset, struct error *error);
  int (*write) (const struct target *target, const void *buf, size_t len,
                uint64_t offset, struct error *error);
  int (*sync) (const struct target *target, struct error *error);
  void (*close) (struct target *target);
};

static int
refuse_size (struct error *error)
{
  return error_set (error, "changed its size after it was read; nothing was "
                    "written");
}

/* ---- A file ---- */

static int
open_file (struct target *target, bool read_only, struct error *error)
{
  struct write_file *file = &target->file;

  if (write_file_open (file, target->operand, &target->st, read_only,
                       error) == -1)
    return -1;
  if (file->reader->size == target->full_size)
    return 0;
  write_file_close (file);
  return refuse_size (error);
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
  write_file_close (&target->file);
}

static const struct target_ops file_ops = {
  .open = open_file, .read = read_file, .write = write_file,
  .sync = sync_file, .close = close_file,
};

/* ---- An NBD export ---- */

#ifdef HAVE_LIBNBD

/* A block that is not aligned would have to be written together with bytes of
 * others, which can be good.
 */
static int
check_export (const struct target *target, struct error *error)
{
  unsigned long align = target->writer.align;

  if (target->full_size > 0 && target->writer.size != target->full_size)
    return refuse_size (error);
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

/* The protocol has no way to open an export for reading only. */
static int
open_export (struct target *target, bool read_only, struct error *error)
{
  (void) read_only;
  if (nbd_writer_open (&target->writer, target->operand, error) == -1)
    return -1;
  if (check_export (target, error) == 0)
    return 0;
  nbd_writer_close (&target->writer);
  return -1;
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

static void
close_export (struct target *target)
{
  nbd_writer_close (&target->writer);
}

static const struct target_ops export_ops = {
  .open = open_export, .read = read_export, .write = write_export,
  .sync = flush_export, .close = close_export,
};

static int
init_export (struct target *target, struct error *error)
{
  target->ops = &export_ops;
  if (target_open (target, true, error) == -1)
    return -1;
  target->full_size = target->writer.size;
  target_close (target);
  return 0;
}

#else

static int
init_export (struct target *target, struct error *error)
{
  (void) target;
  return error_set (error, "blksum was built without NBD");
}

#endif

/* ---- Checks ---- */

static int
refuse_format (const struct source *source, struct error *error)
{
  if (source->size == SOURCE_SIZE_UNKNOWN)
    return error_set (error, "can only be read sequentially, like a pipe, and "
                      "cannot be repaired");
  return error_set (error, "its format is %s, and only raw disks can be "
                    "repaired: export it with qemu-nbd -t, and repair its URI; "
                    "or give -f raw if it is a raw disk whose guest has "
                    "written a header of %s", source->format, source->format);
}

/* A raw source has one file. */
static int
set_file (struct target *target, const struct source *source,
          struct error *error)
{
  const struct files *files = source_files (source);

  if (strcmp (source->format, "raw") != 0 || !files)
    return refuse_format (source, error);
  if (strcmp (target->operand, "-") == 0)
    return error_set (error, "standard input cannot be repaired");
  target->full_size = source->full_size;
  target->st = files->first->st;
  target->id = disk_id_of (files->first->fd, &files->first->st);
  return 0;
}

static int
check_size (const struct target *target, const struct source *source,
            struct error *error)
{
  if (source->full_size != target->full_size)
    return refuse_size (error);
  if (source->size == target->size)
    return 0;
  return error_set (error, "has %llu bytes, but the image of the manifest has "
                    "%llu%s", (unsigned long long) source->size,
                    (unsigned long long) target->size,
                    source->size > target->size
                    ? "; --size is for an image on a larger disk" : "");
}

int
target_init (struct target *target, const char *operand, uint64_t size,
             uint32_t block_size, struct error *error)
{
  *target = (struct target) {
    .ops = &file_ops, .operand = operand, .size = size,
    .block_size = block_size,
  };
  return source_is_uri (operand) ? init_export (target, error) : 0;
}

int
target_set_source (struct target *target, const struct source *source,
                   struct error *error)
{
  bool is_file = target->ops == &file_ops;

  if ((is_file && set_file (target, source, error) == -1) ||
      check_size (target, source, error) == -1)
    return -1;
  if (!is_file)
    return 0;
  return write_file_check (target->operand, source_files (source)->first->fd,
                           &target->st, error);
}

bool
target_is_in (const struct target *target, const struct source *source)
{
  return target->ops == &file_ops &&
    disk_id_is_in (&target->id, source_files (source));
}

/* ---- Access ---- */

int
target_open (struct target *target, bool read_only, struct error *error)
{
  return target->ops->open (target, read_only, error);
}

void
target_close (struct target *target)
{
  target->ops->close (target);
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

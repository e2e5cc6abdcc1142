/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A read-only file system on FUSE that simulates slow storage: see
 * disk-model.h.  It passes through the files of a directory.  Directories
 * cannot be listed, so a program must be given the path of a file.
 *
 *   disk-fs -f -o directory=DIRECTORY[,OPTION]... MOUNTPOINT
 *
 *   counts=FILE   file of the counts
 *   delay=MS      for each read, and each search for data or a hole
 *   rate=BYTES    of a hard disk, per second
 *   seek=MS       seek time of the hard disk; needs rate
 *
 * Cached pages stay valid when a file is opened again, as on NFS if the file
 * did not change.
 */

#define FUSE_USE_VERSION 35

#include <config.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "disk-model.h"

#define MAX_BACKGROUND 128      /* asynchronous requests that the kernel sends
                                 * at once */

/* Bytes of a request; max_write limits reads, too.  libfuse splices the data of
 * a read through a pipe, and would copy a longer one than the pipe holds.
 */
#define MAX_REQUEST (512 * 1024)

/* A thread serves one request at a time.  libfuse 3.12 and later start at most
 * 10 by default.  Earlier versions have no maximum, but end idle threads above
 * 10, and soon start new ones.
 */
#if FUSE_VERSION >= FUSE_MAKE_VERSION (3, 12)
#define THREADS "-omax_threads=128,max_idle_threads=128"
#else
#define THREADS "-omax_idle_threads=128"
#endif

static struct {
  char *directory, *counts;
  unsigned delay, seek;
  unsigned long rate;
} options;

static const struct fuse_opt option_specs[] = {
#define OPTION(name, format) \
  { #name "=" format, offsetof (typeof (options), name), 0 }
  OPTION (directory, "%s"), OPTION (counts, "%s"), OPTION (delay, "%u"),
  OPTION (rate, "%lu"), OPTION (seek, "%u"),
  FUSE_OPT_END
};

static int directory;

/* ---- Operations ---- */

static void *
fs_init (struct fuse_conn_info *conn, struct fuse_config *config)
{
  config->kernel_cache = 1;
  conn->max_background = MAX_BACKGROUND;
  conn->max_write = MAX_REQUEST;
  conn->want |= conn->capable & FUSE_CAP_SPLICE_WRITE;
  return NULL;
}

static int
fs_getattr (const char *path, struct stat *st, struct fuse_file_info *fi)
{
  (void) fi;
  return fstatat (directory, path[1] ? path + 1 : ".", st, 0) == 0 ? 0 : -errno;
}

static int
fs_open (const char *path, struct fuse_file_info *fi)
{
  int fd = openat (directory, path + 1, O_RDONLY | O_CLOEXEC);

  if (fd == -1)
    return -errno;
  fi->fh = fd;
  return 0;
}

static int
fs_release (const char *path, struct fuse_file_info *fi)
{
  (void) path;
  close (fi->fh);
  return 0;
}

/* libfuse moves the data from the file to the kernel after the delay. */
static int
fs_read_buf (const char *path, struct fuse_bufvec **result, size_t size,
             off_t offset, struct fuse_file_info *fi)
{
  struct fuse_bufvec *data = malloc (sizeof *data);

  (void) path;
  if (!data)
    return -ENOMEM;
  *data = FUSE_BUFVEC_INIT (size);
  data->buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
  data->buf[0].fd = fi->fh;
  data->buf[0].pos = offset;
  *result = data;
  disk_end (disk_begin (offset, size));
  return 0;
}

static off_t
fs_lseek (const char *path, off_t offset, int whence,
          struct fuse_file_info *fi)
{
  off_t r;

  (void) path;
  disk_look_up ();
  r = lseek (fi->fh, offset, whence);
  return r == -1 ? -errno : r;
}

static const struct fuse_operations operations = {
  .init = fs_init, .getattr = fs_getattr, .open = fs_open,
  .release = fs_release, .read_buf = fs_read_buf, .lseek = fs_lseek,
};

int
main (int argc, char *argv[])
{
  struct fuse_args args = FUSE_ARGS_INIT (argc, argv);

  if (fuse_opt_parse (&args, &options, option_specs, NULL) == -1)
    return 2;
  if (!options.directory)
    errx (2, "usage: disk-fs -f -o directory=DIRECTORY[,OPTION]... MOUNTPOINT");
  directory = open (options.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory == -1)
    err (2, "%s", options.directory);
  if (options.counts && disk_map_counts (options.counts) == -1)
    err (2, "%s", options.counts);
  disk = (struct disk) {
    .delay = options.delay, .rate = options.rate, .seek = options.seek
  };
  if (fuse_opt_add_arg (&args, THREADS) == -1)
    return 2;
  return fuse_main (args.argc, args.argv, &operations, NULL);
}

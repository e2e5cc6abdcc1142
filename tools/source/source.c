/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an operand names, and which of the source-*.c reads it.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "blkhash.h"

#include "cli/options.h"
#include "cli/output.h"
#include "image/image.h"
#include "io/files.h"
#include "source/source.h"
#include "util/error.h"

int
source_fold (struct blkhash_leaves *leaves, uint64_t size, uint64_t hole,
             struct sum *sum, struct error *error)
{
  uint64_t data, zero;
  int err;

  err = blkhash_leaves_fold (leaves, sum->md, &sum->md_len);
  if (err)
    return error_errno (error, err, "cannot hash");
  blkhash_leaves_count (leaves, &data, &zero);
  sum->size = size;
  sum->data = data;
  sum->zero = zero - hole;
  sum->hole = hole;
  return 0;
}

/* A scheme and "://", as in nbd+unix:///?socket=PATH.  A file of such a name
 * can be given as ./NAME.
 */
static bool
is_uri (const char *operand)
{
  size_t n = 0;

  while (isalnum ((unsigned char) operand[n]) || operand[n] == '+' ||
         operand[n] == '-' || operand[n] == '.')
    n++;
  return n > 0 && strncmp (operand + n, "://", 3) == 0;
}

static int
uri_hash (const struct options *options, const char *uri,
          struct sum *sum, struct error *error)
{
  if (options->format && strcmp (options->format, "raw") != 0)
    return error_set (error, "-f %s is not for NBD: the server chooses the "
                      "format", options->format);
#ifdef HAVE_LIBNBD
  return source_uri_hash (options, uri, sum, error);
#else
  (void) uri; (void) sum;
  return error_set (error, "blksum was built without NBD");
#endif
}

static int
qemu_hash (const struct options *options, const struct file *file,
           const char *operand, const struct image *image,
           struct files *files, struct sum *sum, struct error *error)
{
#ifdef HAVE_LIBNBD
  return source_qemu_hash (options, file, operand, image, files, sum, error);
#else
  (void) options; (void) file; (void) operand; (void) files; (void) sum;
  return error_set (error, "blksum was built without the format %s",
                    image->format);
#endif
}

static int
opts_hash (const struct options *options, const char *opts,
           struct files *files, struct sum *sum, struct error *error)
{
  struct image image;
  int r;

  if (image_inspect_opts (opts, files, &image, error) == -1)
    return -1;
  r = qemu_hash (options, NULL, opts, &image, files, sum, error);
  image_destroy (&image);
  return r;
}

/* Files of /proc have a size of 0 and content all the same: what seems to be
 * empty is read until its end.
 */
static bool
is_seekable_image (int fd)
{
  struct stat st;

  return fstat (fd, &st) == 0 &&
    ((S_ISREG (st.st_mode) && st.st_size > 0) || S_ISBLK (st.st_mode)) &&
    lseek (fd, 0, SEEK_CUR) != -1;
}

/* The beginning of a file of checksums, as sha256sum and blksum write it, with
 * --tag and without.
 */
static bool
looks_like_sums (int fd)
{
  static const char hex[] = "0123456789abcdef";
  char head[4096], *line = head, *end;
  ssize_t len = pread (fd, head, sizeof head - 1, 0);
  size_t n;

  if (len <= 0)
    return false;
  head[len] = '\0';
  line += *line == '\\';
  n = strspn (line, hex);
  if (n >= 16 && line[n] == ' ' && (line[n + 1] == ' ' || line[n + 1] == '*'))
    return true;

  line[strcspn (line, "\n")] = '\0';
  end = strrchr (line, ')');
  return end && strstr (line, " (") && strncmp (end, ") = ", 4) == 0 &&
    strspn (end + 4, hex) >= 16;
}

/* -c is not the -c of sha256sum, and a checksum of the file of checksums is
 * not what its user wants to see, least of all with exit status 0.
 */
static int
check_letter (const struct options *options, int fd, struct error *error)
{
  if (options->cache_by_letter && looks_like_sums (fd))
    return error_set (error, "looks like a file of checksums, and -c does "
                      "not check them: it is the short form of --cache, "
                      "which hashes this file when written out");
  return 0;
}

/* Standard input is raw: what is left of it from where it is. */
static int
stdin_hash (const struct options *options, struct files *files,
            struct sum *sum, struct error *error)
{
  if (options->format && strcmp (options->format, "raw") != 0)
    return error_set (error, "standard input can only be raw, not %s",
                      options->format);
  if (!is_seekable_image (STDIN_FILENO))
    return source_pipe_hash (options, STDIN_FILENO, sum, error);
  if (!files_adopt (files, STDIN_FILENO, NULL, error) ||
      check_letter (options, STDIN_FILENO, error) == -1)
    return -1;
  return source_file_hash (options, files, lseek (STDIN_FILENO, 0, SEEK_CUR),
                           sum, error);
}

static int
image_hash (const struct options *options, int fd, const char *path,
            struct files *files, struct sum *sum, struct error *error)
{
  /* Also for what qemu reads it is locked: qemu locks too, but later, and says
   * it worse.
   */
  struct file *file = files_adopt (files, fd, path, error);
  struct image image;
  int r;

  if (!file || check_letter (options, fd, error) == -1 ||
      image_inspect (file, options->format, files, &image, error) == -1)
    return -1;
  if (strcmp (image.format, "raw") != 0)
    r = qemu_hash (options, file, path, &image, files, sum, error);
  else
    r = source_file_hash (options, files, 0, sum, error);
  image_destroy (&image);
  return r;
}

static int
path_hash (const struct options *options, const char *path,
           struct files *files, struct sum *sum, struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  int r;

  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  if (is_seekable_image (fd))
    return image_hash (options, fd, path, files, sum, error);
  if (options->format && strcmp (options->format, "raw") != 0)
    r = error_set (error, "is empty, or no file or block device: it cannot "
                   "be %s", options->format);
  else
    r = source_pipe_hash (options, fd, sum, error);
  close (fd);
  return r;
}

static double
now (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec + ts.tv_nsec * 1e-9;
}

int
source_hash (const struct options *options, const char *operand,
             struct sum *sum, struct error *error)
{
  struct files files = {
    .cache = options->cache, .force_share = options->force_share
  };
  double start = now ();
  int r;

  *sum = (struct sum) { .size = 0 };
  if (options->image_opts)
    r = opts_hash (options, operand, &files, sum, error);
  else if (strcmp (operand, "-") == 0)
    r = stdin_hash (options, &files, sum, error);
  else if (is_uri (operand))
    r = uri_hash (options, operand, sum, error);
  else
    r = path_hash (options, operand, &files, sum, error);
  files_close (&files);
  sum->seconds = now () - start;
  return r;
}

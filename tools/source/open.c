/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Open an operand: which kind of source is it?
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image.h"
#include "io/file.h"
#include "source/source-private.h"
#include "source/source.h"
#include "util/error.h"
#include "util/source-options.h"

bool
source_is_uri (const char *operand)
{
  size_t n = 0;

  while (isalnum ((unsigned char) operand[n]) || operand[n] == '+' ||
         operand[n] == '-' || operand[n] == '.')
    n++;
  return n > 0 && strncmp (operand + n, "://", 3) == 0;
}

/* Returns an empty list of files with the given options. */
static struct files
files_of (const struct source_options *options)
{
  return (struct files) {
    .cache = options->cache, .force_share = options->force_share
  };
}

static bool
is_not_raw (const struct source_options *options)
{
  return options->format && strcmp (options->format, "raw") != 0;
}

static int
open_uri (const struct source_options *options, const char *uri,
          struct source **source, struct error *error)
{
  if (is_not_raw (options))
    return error_set (error, "-f %s does not apply to NBD: the server chooses "
                      "the format", options->format);
  if (strncasecmp (uri, "nbd", 3) != 0)
    return error_set (error, "is not an NBD URI; nbdkit exports what is at "
                      "http, https or ftp: nbdkit -U - curl URL --run 'blksum "
                      "\"$uri\"'");
#ifdef HAVE_LIBNBD
  return nbd_uri_open (options, uri, source, error);
#else
  (void) uri; (void) source;
  return error_set (error, "blksum was built without NBD");
#endif
}

/* ---- Images ---- */

/* Open an image that is not a raw file.  After success the source owns QI. */
static int
open_qemu (const struct qemu_image *qi, struct source **source,
           struct error *error)
{
#ifdef HAVE_LIBNBD
  enum direct_opened opened = direct_open (qi, source, error);

  if (opened == DIRECT_QEMU)
    return qemu_open (qi, source, error);
  return opened == DIRECT_OPENED ? 0 : -1;
#else
  (void) source;
  return error_set (error, "blksum was built without the format %s",
                    qi->info.format);
#endif
}

/* Print WARNING, which is about OPERAND, if it is set. */
static void
print_warning (const struct source_options *options, const char *operand,
               const struct error *warning)
{
  if (error_is_set (warning))
    options->warn (operand, warning);
}

/* Open the image of QI, which was inspected.  The source owns QI if this
 * succeeds.
 */
static int
open_inspected (struct qemu_image *qi, struct source **source,
                struct error *error)
{
  int r;

  print_warning (qi->options, qi->operand, &qi->info.warning);
  if (strcmp (qi->info.format, "raw") == 0)
    return raw_open (qi->options, &qi->files, 0, source, error);
  r = open_qemu (qi, source, error);
  if (r == -1)
    image_info_destroy (&qi->info);
  return r;
}

/* ---- Files ---- */

/* Does the file have a size?  Fails with errno set.
 *
 * Files in /proc have size 0, although they have content.  So a file of size 0
 * is read sequentially, unless a read finds that it is empty.
 */
static enum answer
has_size (int fd, const struct stat *st)
{
  ssize_t n;
  char byte;

  if (S_ISBLK (st->st_mode) || (S_ISREG (st->st_mode) && st->st_size > 0))
    return ANSWER_YES;
  if (!S_ISREG (st->st_mode))
    return ANSWER_NO;
  do
    n = pread (fd, &byte, 1, 0);
  while (n == -1 && errno == EINTR);
  return n == -1 ? ANSWER_FAILED : n == 0 ? ANSWER_YES : ANSWER_NO;
}

/* Can the file be read at any offset?  If so, *POSITION is that of FD;
 * otherwise it can only be read sequentially.  An error must not lead to a
 * sequential read, because an image that is not raw would be hashed as a raw
 * one.
 */
static enum answer
is_seekable_image (int fd, off_t *position, struct error *error)
{
  enum answer sized;
  struct stat st;

  if (fstat (fd, &st) == -1)
    return error_errno (error, errno, "cannot read");
  sized = has_size (fd, &st);
  if (sized == ANSWER_FAILED)
    return error_errno (error, errno, "cannot read");
  if (sized == ANSWER_NO)
    return ANSWER_NO;
  *position = lseek (fd, 0, SEEK_CUR);
  if (*position == -1)
    return error_errno (error, errno, "cannot read");
  return ANSWER_YES;
}

/* Does the file start like a list of checksums of sha256sum or blksum, with or
 * without --tag?
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

/* In sha256sum, -c means --check.  A user who expects the same of blksum must
 * get an error, not a checksum of the list itself with exit status 0.
 */
static int
refuse_sums_file (const struct source_options *options, int fd,
                  struct error *error)
{
  if (options->refuse_sums && looks_like_sums (fd))
    return error_set (error, "looks like a list of sums: --check checks "
                      "them; -c is the short form of --cache, and --cache "
                      "itself hashes this file");
  return 0;
}

/* Refuse a fixed vpc on standard input, unless the user gives the format. */
static int
check_stdin (const struct source_options *options, const struct file *file,
             uint64_t start, struct error *error)
{
  struct error warning = { "" };

  if (options->format)
    return 0;
  if (image_check_stream (file, start, &warning, error) == -1)
    return -1;
  print_warning (options, "-", &warning);
  return 0;
}

/* Standard input is raw.  The image starts at the current position. */
static int
open_stdin (const struct source_options *options, struct source **source,
            struct error *error)
{
  struct files files = files_of (options);
  off_t position;
  enum answer seekable;

  if (is_not_raw (options))
    return error_set (error, "standard input can only be raw, not %s",
                      options->format);
  seekable = is_seekable_image (STDIN_FILENO, &position, error);
  if (seekable == ANSWER_FAILED)
    return -1;
  if (seekable == ANSWER_NO)
    return pipe_open (options, STDIN_FILENO, source, error);
  if (files_adopt (&files, STDIN_FILENO, NULL, error) &&
      refuse_sums_file (options, STDIN_FILENO, error) == 0 &&
      check_stdin (options, files.first, position, error) == 0 &&
      raw_open (options, &files, position, source, error) == 0)
    return 0;
  files_close (&files);
  return -1;
}

/* The source owns FD.  On error FD is closed, too. */
static int
open_image (const struct source_options *options, int fd, const char *path,
            struct source **source, struct error *error)
{
  struct qemu_image qi = {
    .options = options, .operand = path, .files = files_of (options)
  };
  /* This locks the file before qemu does, because our message is better. */
  struct file *file = files_adopt (&qi.files, fd, path, error);

  qi.file = file;
  if (file && refuse_sums_file (options, fd, error) == 0 &&
      image_inspect (file, options->format, &qi.files, &qi.info, error) == 0 &&
      open_inspected (&qi, source, error) == 0)
    return 0;
  files_close (&qi.files);
  return -1;
}

static int
open_sequential (const struct source_options *options, int fd,
                 struct source **source, struct error *error)
{
  if (is_not_raw (options))
    return error_set (error, "can only be read sequentially, like a pipe: its "
                      "format cannot be %s", options->format);
  return pipe_open (options, fd, source, error);
}

static int
open_path (const struct source_options *options, const char *path,
           struct source **source, struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  enum answer seekable;
  off_t position;

  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  seekable = is_seekable_image (fd, &position, error);
  if (seekable == ANSWER_YES)
    return open_image (options, fd, path, source, error);
  if (seekable == ANSWER_NO &&
      open_sequential (options, fd, source, error) == 0)
    return 0;
  close (fd);
  return -1;
}

static int
open_operand (const struct source_options *options, const char *operand,
              struct source **source, struct error *error)
{
  if (strcmp (operand, "-") == 0)
    return open_stdin (options, source, error);
  if (source_is_uri (operand))
    return open_uri (options, operand, source, error);
  return open_path (options, operand, source, error);
}

static int
refuse_format (const char *format, struct error *error)
{
  return error_set (error, "its format is %s, and only raw disks can be "
                    "repaired: convert it, repair the raw disk, and convert "
                    "that back; or give -f raw if it is a raw disk whose guest "
                    "has written a header of %s", format, format);
}

/* The format of OPTIONS is that of the sources of a repair, of which only raw
 * is also one of the disk.
 */
static int
check_raw (const struct source_options *options, const struct file *file,
           struct error *error)
{
  struct error reason = { "" };
  const char *format = options->format && !is_not_raw (options)
    ? options->format : image_probe (file, &reason);

  if (!format)
    return error_set (error, "%s, so its format is not known; -f raw repairs "
                      "it as a raw disk", reason.text);
  return strcmp (format, "raw") == 0 ? 0 : refuse_format (format, error);
}

int
source_open_raw (const struct source_options *options, int fd,
                 struct source **source, struct error *error)
{
  struct files files = { .force_share = true };
  struct file *file = files_adopt (&files, fd, NULL, error);
  int r = -1;

  if (file) {
    file_set_direct (file);
    r = check_raw (options, file, error);
  }
  if (r == 0)
    r = raw_open (options, &files, 0, source, error);
  if (r == -1)
    files_close (&files);
  return r;
}

/* ---- The size ---- */

/* Limit the image to the first SIZE bytes.  An image with fewer bytes is an
 * error.  The size of a pipe is known only at its end.
 */
static int
set_size (struct source *source, uint64_t size, struct error *error)
{
  if (size == SOURCE_WHOLE)
    return 0;
  if (source->size != SOURCE_SIZE_UNKNOWN && source->size < size)
    return error_set (error, "has only %" PRIu64 " bytes, fewer than the "
                      "%" PRIu64 " of --size", source->size, size);
  source->trailing = source->sequential ? SOURCE_SIZE_UNKNOWN
                                        : source->size - size;
  source->size = size;
  return 0;
}

int
source_open (const struct source_options *options, const char *operand,
             struct source **source, struct error *error)
{
  struct source *opened;

  if (open_operand (options, operand, &opened, error) == -1)
    return -1;
  if (set_size (opened, options->size, error) == -1) {
    source_close (opened);
    return -1;
  }
  *source = opened;
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/statfs.h>
#endif

#include "../lib/common/clock.h"
#include "../lib/common/same-file.h"
#include "../lib/common/util.h"
#include "io/file-read.h"
#include "io/file.h"
#include "util/error.h"

/* ---- The image locks of qemu ---- */

/* For each permission n that it uses, qemu takes a shared lock on byte 100 + n;
 * for each permission that it does not share, on byte 200 + n.  Then it checks
 * that no other program has locked the opposite byte, 200 + n or 100 + n.  A
 * reader uses "consistent read" (0), and does not share "write" (1) and
 * "resize" (3).  A writer also uses "write".
 */

#ifdef F_OFD_SETLK

#define USED 100
#define UNSHARED 200
#define CONSISTENT_READ 0
#define WRITE 1
#define RESIZE 3

static int
lock_byte (int fd, int cmd, short type, off_t byte, short *found)
{
  struct flock lock = {
    .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
  };

  if (fcntl (fd, cmd, &lock) == -1)
    return -1;
  if (found)
    *found = lock.l_type;
  return 0;
}

/* If the file system has no OFD locks, the byte counts as unlocked. */
static bool
is_locked (int fd, off_t byte)
{
  short found = F_UNLCK;

  return lock_byte (fd, F_OFD_GETLK, F_WRLCK, byte, &found) == 0 &&
    found != F_UNLCK;
}

/* First lock, then check: of two processes that start at the same time, at
 * least one finds the locks of the other.  Returns true if the other program
 * has none of the bytes THEIRS locked.
 */
static bool
lock_bytes (int fd, bool take, const off_t *ours, size_t nr_ours,
            const off_t *theirs, size_t nr_theirs)
{
  size_t i;

  for (i = 0; take && i < nr_ours; i++)
    lock_byte (fd, F_OFD_SETLK, F_RDLCK, ours[i], NULL);
  for (i = 0; i < nr_theirs; i++)
    if (is_locked (fd, theirs[i]))
      return false;
  return true;
}

#define COUNT(array) (sizeof array / sizeof array[0])

/* Take the locks that qemu takes to read an image, on FD, which is open for
 * reading.  They are held until FD is closed; meanwhile a VM that writes the
 * image cannot start.  If TAKE is false, only check the locks of other
 * programs; this is for an inherited descriptor, on which the locks would
 * outlive this process.  If the file system has no OFD locks, the image is
 * treated as unlocked.  Returns 0, or -1 with the reason if a program of qemu
 * may write the image.
 */
static int
lock_image (int fd, bool take, struct error *error)
{
  static const off_t ours[] = {
    USED + CONSISTENT_READ, UNSHARED + WRITE, UNSHARED + RESIZE
  };
  static const off_t theirs[] = {
    USED + WRITE, USED + RESIZE, UNSHARED + CONSISTENT_READ
  };

  if (lock_bytes (fd, take, ours, COUNT (ours), theirs, COUNT (theirs)))
    return 0;
  return error_set (error, "is in use by another program, which may write "
                    "it (a running virtual machine?); --force-share "
                    "reads it all the same");
}

int
lock_image_for_writing (int fd, bool take, struct error *error)
{
  static const off_t ours[] = {
    USED + CONSISTENT_READ, USED + WRITE, UNSHARED + WRITE, UNSHARED + RESIZE
  };
  static const off_t theirs[] = {
    USED + WRITE, USED + RESIZE, UNSHARED + CONSISTENT_READ, UNSHARED + WRITE
  };

  if (lock_bytes (fd, take, ours, COUNT (ours), theirs, COUNT (theirs)))
    return 0;
  return error_set (error, "is in use by another program, which reads or "
                    "writes it (a running virtual machine?)");
}

#else

static int
lock_image (int fd, bool take, struct error *error)
{
  (void) fd;
  (void) take;
  (void) error;
  return 0;
}

int
lock_image_for_writing (int fd, bool take, struct error *error)
{
  (void) fd;
  (void) take;
  (void) error;
  return 0;
}

#endif

/* ---- What the file is ---- */

#define TMPFS 0x01021994        /* f_type, see statfs(2) */

#define SECOND 1000000000LL     /* ns */
#define TICK 10000000           /* ns: the longest tick of Linux, at 100 Hz */
#define COARSE (2 * SECOND)     /* the tick of FAT, and longer than that of file
                                 * systems with times in seconds */

bool
file_is_block_device (const struct file *file)
{
  return S_ISBLK (file->st.st_mode);
}

bool
file_is_sparse (const struct file *file)
{
  return !file_is_block_device (file) &&
    file->st.st_blocks < file->size / 512;
}

/* On a tmpfs the content is only in the page cache, except for swap. */
static bool
is_tmpfs (const struct file *file)
{
#ifdef __linux__
  struct statfs fs;

  return fstatfs (file->fd, &fs) == 0 && fs.f_type == TMPFS;
#else
  (void) file;
  return false;
#endif
}

/* ---- Direct I/O ---- */

#if defined O_DIRECT && defined __linux__

/* Open the file again by its path.  Returns -1 on error, or if the path now
 * names another file.
 */
static int
reopen_by_path (const struct file *file, int flags)
{
  int fd = open (file->path, flags | O_NONBLOCK);
  struct stat st;

  if (fd != -1 &&
      (fstat (fd, &st) == -1 || !same_file (&st, &file->st) ||
       st.st_rdev != file->st.st_rdev)) {
    close (fd);
    fd = -1;
  }
  return fd;
}

/* Open the same file again, for direct I/O.  Returns -1 if this is not
 * possible.
 */
static int
reopen_direct (const struct file *file)
{
  const int flags = O_DIRECT | O_RDONLY | O_CLOEXEC;
  char path[64];
  int fd;

  snprintf (path, sizeof path, "/proc/self/fd/%d", file->fd);
  fd = open (path, flags);
  if (fd == -1 && errno == ENOENT && file->path)
    fd = reopen_by_path (file, flags);
  return fd;
}

/* Read the block device FILE with direct I/O, or through the page cache if
 * direct I/O is not possible.  It is not possible, for example, if the image
 * begins at an unaligned offset: POSITION, the position of an inherited
 * descriptor.  An inherited device is opened again, because other processes
 * share the flags of its file description.
 */
static void
enable_direct (struct file *file, uint64_t position)
{
  int flags;

  if (file->path) {
    flags = fcntl (file->fd, F_GETFL);
    file->direct = flags != -1 &&
      fcntl (file->fd, F_SETFL, flags | O_DIRECT) == 0;
  }
  else if (position % READ_ALIGN == 0) {
    int fd = reopen_direct (file);

    file->direct = fd != -1;
    if (file->direct)
      file->data.fd = fd;
  }
}

/* Does the file support direct I/O?  Not every file system does. */
static bool
supports_direct (const struct file *file)
{
  int fd;

  if (file->direct)
    return true;
  fd = reopen_direct (file);
  if (fd != -1)
    close (fd);
  return fd != -1;
}

#else

static int
reopen_direct (const struct file *file)
{
  (void) file;
  return -1;
}

static void
enable_direct (struct file *file, uint64_t position)
{
  (void) file; (void) position;
}

static bool
supports_direct (const struct file *file)
{
  (void) file;
  return false;
}

#endif

/* ---- Changes ---- */

int
file_check_unchanged (const struct file *file, bool force_share,
                      struct error *error)
{
  const char *name = file->named ? file->path : "the file";
  const char *quote = file->named ? "'" : "";
  struct stat now;
  int r;

  if (fstat (file->fd, &now) == -1)
    return error_errno (error, errno, "cannot read %s%s%s", quote, name,
                        quote);
  if (now.st_size < file->st.st_size)
    return error_set (error, "%s%s%s was truncated while it was read", quote,
                      name, quote);
  if (!force_share && !same_state (&file->st, &now))
    return error_set (error, "%s%s%s changed while it was read", quote, name,
                      quote);

  /* If qemu opens the file by its path, check that the path still names this
   * file.
   */
  if (!file->by_path || force_share)
    return 0;
  r = stat (file->path, &now);
  if (r == -1 && errno != ENOENT)
    return error_errno (error, errno, "cannot read '%s'", file->path);
  if (r == -1 || !same_file (&file->st, &now))
    return error_set (error, "'%s' changed while it was read", file->path);
  return 0;
}

/* ---- Open and close ---- */

void
file_free (struct file *file)
{
  if (file->data.fd != file->fd)
    close (file->data.fd);
  if (file->data.direct_fd != -1)
    close (file->data.direct_fd);
  if (file->path)
    close (file->fd);
  free (file->path);
  free (file);
}

/* A lock on an inherited descriptor would outlive this process, so only the
 * locks of other programs are checked.
 */
static int
lock_file (const struct file *file, struct error *error)
{
  struct error reason = { "" };

  if (lock_image (file->fd, file->path != NULL, &reason) == 0)
    return 0;
  return file->named
    ? error_set (error, "'%s' %s", file->path, reason.text)
    : error_set (error, "%s", reason.text);
}

/* Store the status and the size in FILE.  Set *POSITION to the file position of
 * a device; for a regular file, to 0.
 */
static int
stat_file (struct file *file, uint64_t *position, struct error *error)
{
  off_t now, end;

  *position = 0;
  if (fstat (file->fd, &file->st) == -1)
    return error_errno (error, errno, "cannot read");
  if (S_ISREG (file->st.st_mode)) {
    file->size = file->st.st_size;
    return 0;
  }
  now = lseek (file->fd, 0, SEEK_CUR);
  end = lseek (file->fd, 0, SEEK_END);
  if (end == -1 || now == -1 || lseek (file->fd, now, SEEK_SET) == -1)
    return error_errno (error, errno, "cannot find the size");
  *position = now;
  file->size = end;
  return 0;
}

/* Returns the length, in ns, of the tick of the file system, if a write at NOW
 * might leave TIME as it is; or 0.  A server's clock can be ahead of ours, so a
 * time in the future counts as one of this tick.
 */
static long long
recent_tick (const struct timespec *time, const struct timespec *now)
{
  long long tick = time->tv_nsec == 0 ? COARSE : TICK, age;

  if (time->tv_sec < now->tv_sec - COARSE / SECOND)
    return 0;
  if (time->tv_sec > now->tv_sec)
    return TICK;
  age = (now->tv_sec - time->tv_sec) * SECOND + now->tv_nsec - time->tv_nsec;
  return age < 0 ? TICK : age < tick ? tick : 0;
}

/* Returns the tick to wait for before FILE may be read, or 0.  The ctime counts
 * too, because a program that sets the mtime back after each write (rsync, tar)
 * can be in the middle of that.
 */
static long long
tick_to_wait (const struct file *file)
{
  struct timespec now;

  if (!S_ISREG (file->st.st_mode))
    return 0;
  clock_gettime (CLOCK_REALTIME, &now);
  return MAX (recent_tick (&file->st.st_mtim, &now),
              recent_tick (&file->st.st_ctim, &now));
}

/* Before Linux 6.13 two writes within the same tick of the clock leave the same
 * mtime, as they do in file systems with times in seconds.  So if the file was
 * modified in this tick, a write after the first read might not be detected.
 * Then wait until the mtime has not changed for a tick: each later write sets
 * another one.  This also holds for an mtime in the future, however far, and
 * for the clock of a server, if its ticks are no longer.  A file that is
 * modified again and again is an error.
 */
static int
wait_for_tick (struct file *file, struct error *error)
{
  struct stat before;
  long long tick, waited = 0;

  while ((tick = tick_to_wait (file)) > 0) {
    if (waited >= COARSE) {
      file->st = before;
      return file_check_unchanged (file, false, error);
    }
    before = file->st;
    clock_sleep (tick);
    waited += tick;
    if (fstat (file->fd, &file->st) == -1)
      return error_errno (error, errno, "cannot read");
    file->size = file->st.st_size;
    if (same_mtime (&file->st, &before))
      break;
  }
  return 0;
}

static int
set_up (struct file *file, bool force_share, bool cache, struct error *error)
{
  uint64_t position;

  if (cache)
    read_extend_readahead (file->fd);
  else
    read_disable_readahead (file->fd);
  if ((!force_share && lock_file (file, error) == -1) ||
      stat_file (file, &position, error) == -1 ||
      (!force_share && wait_for_tick (file, error) == -1))
    return -1;
  if (!cache && file_is_block_device (file))
    enable_direct (file, position);
  return 0;
}

struct file *
file_new (int fd, const char *path, bool named, bool force_share, bool cache,
          struct error *error)
{
  struct file *file = calloc (1, sizeof *file);
  char *copy = path ? strdup (path) : NULL;

  if (!file || (path && !copy)) {
    error_errno (error, ENOMEM, "cannot read");
    free (file);
    free (copy);
    if (path)
      close (fd);
    return NULL;
  }
  file->path = copy;
  file->named = file->by_path = named;
  file->fd = fd;
  file->data = (struct read_file) { .fd = fd, .direct_fd = -1 };
  if (set_up (file, force_share, cache, error) == 0)
    return file;
  file_free (file);
  return NULL;
}

/* ---- Read ---- */

void
file_set_direct (struct file *file)
{
  if (file->data.fd != file->fd)
    close (file->data.fd);
  file->data.fd = file->fd;
  file->direct = true;
}

/* Select the best mode to read data without leaving it in the page cache.
 * Called after the tables of the image were read, and before its data is read.
 */
static void
avoid_cache (struct file *file)
{
  if (file_is_block_device (file) || file->direct)
    return;
  file->data.mode = read_detect_mode (file->fd);
  if (file->data.mode == READ_ADVISE && file->data.direct_fd == -1 &&
      !is_tmpfs (file))
    file->data.direct_fd = reopen_direct (file);
  if (file->data.direct_fd != -1)
    file->data.shows_cached = read_shows_cached (file->data.direct_fd);
}

int
file_read (const struct file *file, void *buf, size_t len, uint64_t at,
           uint64_t offset, struct error *error)
{
  size_t pages = ROUND_UP (len, (size_t) READ_ALIGN);
  /* A read must not extend beyond the maximum offset. */
  size_t most = MIN (pages, INT64_MAX - at);
  int err = read_range (&file->data, buf, most, len, at);

  if (err == 0)
    return 0;
  if (err == -1)
    return error_set (error, "cannot read at offset %" PRIu64 ": the file was "
                      "truncated while it was read", offset);
  return error_errno (error, err, "cannot read at offset %" PRIu64, offset);
}

/* Read LEN bytes at any alignment with direct I/O, which reads whole pages. */
static int
read_pages (const struct read_file *file, void *buf, size_t len, uint64_t at)
{
  size_t before = at % READ_ALIGN;
  size_t size = ROUND_UP (before + len, (size_t) READ_ALIGN);
  void *pages;
  int err = posix_memalign (&pages, READ_ALIGN, size);

  if (err)
    return err;
  err = read_range (file, pages, size, before + len, at - before);
  if (err == 0)
    memcpy (buf, (char *) pages + before, len);
  free (pages);
  return err;
}

int
file_read_table (const struct file *file, void *buf, size_t len, uint64_t at)
{
  const struct read_file cached = { .fd = file->data.fd, .direct_fd = -1 };

  if (file->prefetch &&
      prefetch_copy (file->prefetch, file->data.fd, buf, len, at))
    return 0;
  return file->direct ? read_pages (&cached, buf, len, at)
                      : read_range (&cached, buf, len, len, at);
}

void
file_prefetch_table (const struct file *file, size_t len, uint64_t at)
{
  if (file->prefetch)
    prefetch_start (file->prefetch, file->data.fd, file->size, len, at);
  else if (!file->direct)
    read_ahead (file->fd, len, at);
}

/* ---- The files of an image ---- */

/* The tables of a file that is read with direct I/O are prefetched, unless
 * there is no memory for that.
 */
static void
set_prefetch (struct files *files, struct file *file)
{
  if (!file->direct)
    return;
  if (!files->prefetch)
    files->prefetch = prefetch_new ();
  file->prefetch = files->prefetch;
}

static struct file *
add_file (struct files *files, int fd, const char *path, bool named,
          struct error *error)
{
  struct file *file = file_new (fd, path, named, files->force_share,
                                files->cache, error);
  struct file **end = &files->first;

  if (!file)
    return NULL;
  while (*end)
    end = &(*end)->next;
  set_prefetch (files, file);
  return *end = file;
}

struct file *
files_adopt (struct files *files, int fd, const char *path,
             struct error *error)
{
  return add_file (files, fd, path, false, error);
}

static struct file *
find_file (const struct files *files, const char *path)
{
  struct file *file;

  for (file = files->first; file; file = file->next)
    if (file->named && strcmp (file->path, path) == 0)
      return file;
  return NULL;
}

struct file *
files_open (struct files *files, const char *what, const char *path,
            struct error *error)
{
  struct file *file = find_file (files, path);
  struct stat st;
  int fd;

  if (file)
    return file;
  /* O_NONBLOCK, because otherwise the open of a pipe would wait for a writer.
   */
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd == -1) {
    error_errno (error, errno, "cannot open %s '%s'", what, path);
    return NULL;
  }
  if (fstat (fd, &st) == 0 && (S_ISREG (st.st_mode) || S_ISBLK (st.st_mode)))
    return add_file (files, fd, path, true, error);
  error_set (error, "%s '%s' is not a file or block device", what, path);
  close (fd);
  return NULL;
}

void
files_start_reading (struct files *files)
{
  struct file *file;

  for (file = files->first; file && !files->cache; file = file->next)
    avoid_cache (file);
}

bool
files_support_direct (const struct files *files)
{
  const struct file *file = files->first;

  while (file && supports_direct (file))
    file = file->next;
  return !file;
}

int
files_check_unchanged (const struct files *files, struct error *error)
{
  const struct file *file;

  for (file = files->first; file; file = file->next)
    if (file_check_unchanged (file, files->force_share, error) == -1)
      return -1;
  return 0;
}

void
files_close (struct files *files)
{
  struct file *file;

  prefetch_free (files->prefetch);
  files->prefetch = NULL;
  while ((file = files->first)) {
    files->first = file->next;
    file_free (file);
  }
}

/* ---- Data and holes ---- */

/* A lookup can take as long as a read, and cannot begin before the lookup of
 * the previous extent has ended.  So the last extent is cached.  A file that is
 * scanned from start to end takes one lookup for each extent, and one more if
 * it begins with a hole.  The end of data is looked up first, because most
 * offsets are in data, of which this is all that has to be known.  Where data
 * ends there is a hole, so only its end is looked up.
 */

/* The last 512 MiB below 2^63, the maximum size of a file, are read as data.
 * On a tmpfs, Linux treats the end of a folio that ends at 2^63 as a negative
 * offset, and reports no data.  No folio is larger than 512 MiB.
 */
#define SEEK_END_OFFSET ((uint64_t) INT64_MAX + 1 - (UINT64_C (1) << 29))

#ifdef SEEK_HOLE

/* Find the end of the data at EXTENT->start.  Returns false if there is a hole
 * instead, or if the end is unknown.
 *
 * On a tmpfs this lookup visits each page, which takes 20 ms for a GiB, before
 * the first read.  If all blocks of a file on a tmpfs are allocated, the lookup
 * is omitted, because it could find only preallocated zeros.
 */
static bool
find_end_of_data (struct file_extent *extent)
{
  const struct file *file = extent->file;
  off_t hole;

  if (!file_is_sparse (file) && is_tmpfs (file))
    return false;
  hole = lseek (file->data.fd, extent->start, SEEK_HOLE);
  if (hole == -1 || hole <= extent->start)
    return false;
  extent->end = hole;
  extent->hole_follows = true;
  return true;
}

/* Find out if there is a hole at EXTENT->start, and where it ends.  Returns 0,
 * or -1 with ERROR if the file became shorter.
 */
static int
find_end_of_hole (struct file_extent *extent, struct error *error)
{
  const struct file *file = extent->file;
  uint64_t at = extent->start;
  off_t data = lseek (file->data.fd, at, SEEK_DATA);

  if (data == -1 && errno == ENXIO &&
      lseek (file->data.fd, 0, SEEK_END) < file->size)
    return error_set (error, "the file was truncated while it was read");
  if (data == -1) {
    extent->hole = errno == ENXIO; /* no data up to the end */
    if (extent->hole && file->size > SEEK_END_OFFSET)
      extent->end = SEEK_END_OFFSET;
  }
  else if (data > at) {
    extent->hole = true;
    extent->end = MIN (data, SEEK_END_OFFSET);
  }
  return 0;
}

/* Find the extent at EXTENT->start.  IS_HOLE is set if it was a hole when the
 * data before it was looked up; by now something can be written there.  If the
 * file system does not report holes, the whole file is data.
 */
static int
find (struct file_extent *extent, bool is_hole, struct error *error)
{
  if (extent->start >= SEEK_END_OFFSET ||
      (!is_hole && find_end_of_data (extent)))
    return 0;
  if (find_end_of_hole (extent, error) == -1)
    return -1;
  if (is_hole && !extent->hole)
    find_end_of_data (extent);
  return 0;
}

#else

static int
find (struct file_extent *extent, bool is_hole, struct error *error)
{
  (void) extent; (void) is_hole; (void) error;
  return 0;
}

#endif

int
file_extent_find (struct file_extent *extent, const struct file *file,
                  uint64_t at, struct error *error)
{
  bool same = extent->file == file;
  bool is_hole = same && extent->hole_follows && at == extent->end;

  if (same && at >= extent->start && at < extent->end)
    return 0;
  *extent = (struct file_extent) {
    .file = file, .start = at, .end = UINT64_MAX
  };
  return find (extent, is_hole, error);
}

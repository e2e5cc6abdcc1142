/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "io/file-read.h"

#define MAX_PAGES 512           /* pages queried at once */

/* Linux has this flag since 6.14.  Older headers of glibc do not define it. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

/* Without posix_fadvise these are not used. */
#ifndef POSIX_FADV_NORMAL
#define POSIX_FADV_NORMAL 0
#define POSIX_FADV_RANDOM 0
#define POSIX_FADV_SEQUENTIAL 0
#define POSIX_FADV_WILLNEED 0
#define POSIX_FADV_DONTNEED 0
#endif

#ifdef HAVE_PREADV2
static ssize_t
read_flags (int fd, void *buf, size_t len, uint64_t offset, int flags)
{
  struct iovec iov = { .iov_base = buf, .iov_len = len };

  return preadv2 (fd, &iov, 1, offset, flags);
}
#endif

static void
advise (int fd, off_t offset, off_t len, int advice)
{
#ifdef HAVE_POSIX_FADVISE
  posix_fadvise (fd, offset, len, advice);
#else
  (void) fd; (void) offset; (void) len; (void) advice;
#endif
}

/* ---- What is in the page cache ---- */

enum cached { NOT_CACHED, CACHED, UNKNOWN };

#ifdef __linux__

/* Against side channels, Linux shows which pages are cached only to processes
 * that may write the file, and reports all pages as cached to others.  Setting
 * O_NOATIME is the probe: only the owner, or a process with CAP_FOWNER, may do
 * it, and both may see the cache.
 */
bool
read_shows_cached (int fd)
{
  int flags = fcntl (fd, F_GETFL);

  if (flags == -1 || fcntl (fd, F_SETFL, flags | O_NOATIME) == -1)
    return false;
  fcntl (fd, F_SETFL, flags);
  return true;
}

/* Are the pages from OFFSET on in the page cache?  *LEN is reduced to the pages
 * with the same answer.  If the system does not show this, the answer is
 * UNKNOWN for pages that seem to be cached.  The mapping is only for
 * mincore(2), and is never accessed.
 */
static enum cached
find_cached (const struct read_file *file, size_t *len, uint64_t offset)
{
  unsigned char pages[MAX_PAGES];
  size_t size = sysconf (_SC_PAGESIZE), asked = MIN (*len, MAX_PAGES * size);
  size_t count = DIV_ROUND_UP (asked, size), n = 1;
  void *map = MAP_FAILED;
  bool known;

  if (offset % size == 0)
    map = mmap (NULL, asked, PROT_READ, MAP_SHARED, file->fd, offset);
  if (map == MAP_FAILED)
    return UNKNOWN;
  known = mincore (map, asked, pages) == 0;
  munmap (map, asked);
  if (!known)
    return UNKNOWN;
  while (n < count && ((pages[n] ^ pages[0]) & 1) == 0)
    n++;
  *len = MIN (n * size, *len);
  if ((pages[0] & 1) == 0)
    return NOT_CACHED;
  return file->shows_cached ? CACHED : UNKNOWN;
}

#else

bool
read_shows_cached (int fd)
{
  (void) fd;
  return false;
}

static enum cached
find_cached (const struct read_file *file, size_t *len, uint64_t offset)
{
  (void) file; (void) len; (void) offset;
  return UNKNOWN;
}

#endif

/* ---- Reads ---- */

/* Read cached data without waiting, and other data with direct I/O, with which
 * FUSE and NFS have the whole read in flight, instead of pieces of 128 KiB one
 * after the other.  If direct I/O fails, for example because of the alignment,
 * or if it is unknown what is cached, read through the cache.  Direct I/O can
 * also use the cache, so all data is dropped from the cache after the read,
 * unless the whole read was cached before.
 */
static ssize_t
read_advise (const struct read_file *file, void *buf, size_t len,
             uint64_t offset)
{
  bool direct = file->direct_fd != -1;
  enum cached cached = UNKNOWN;
  ssize_t r = -1;

#if defined HAVE_PREADV2 && defined RWF_NOWAIT
  r = read_flags (file->fd, buf, len, offset, RWF_NOWAIT);
  if (r > 0)
    return r;
  /* FUSE and NFS do not support RWF_NOWAIT. */
  if (r == -1 && errno == EOPNOTSUPP && direct) {
    cached = find_cached (file, &len, offset);
    direct = cached == NOT_CACHED;
  }
#endif
  if (direct)
    r = pread (file->direct_fd, buf, len, offset);
  if (!direct || (r == -1 && errno != EINTR))
    r = pread (file->fd, buf, len, offset);
  if (r > 0 && cached != CACHED)
    advise (file->fd, offset, r, POSIX_FADV_DONTNEED);
  return r;
}

#define HUGE_PAGE (2 * 1024 * 1024)

void *
read_alloc (size_t size)
{
  void *buf;
  int err = posix_memalign (&buf, size < HUGE_PAGE ? READ_ALIGN : HUGE_PAGE,
                            size);

  if (err) {
    errno = err;
    return NULL;
  }
#ifdef MADV_HUGEPAGE
  madvise (buf, size, MADV_HUGEPAGE);
#endif
  return buf;
}

static ssize_t
read_once (const struct read_file *file, void *buf, size_t len,
           uint64_t offset)
{
  switch (file->mode) {
  case READ_CACHED:
    break;
  case READ_DONTCACHE:
#ifdef HAVE_PREADV2
    return read_flags (file->fd, buf, len, offset, RWF_DONTCACHE);
#else
    break;
#endif
  case READ_ADVISE:
    return read_advise (file, buf, len, offset);
  }
  return pread (file->fd, buf, len, offset);
}

int
read_range (const struct read_file *file, void *buf, size_t len, size_t min,
            uint64_t offset)
{
  size_t done = 0;

  while (done < min) {
    ssize_t r = read_once (file, (char *) buf + done, len - done,
                           offset + done);

    if (r == -1 && errno == EINTR)
      continue;
    if (r == -1)
      return errno;
    if (r == 0)
      return -1;
    done += r;
  }
  return 0;
}

void
read_ahead (int fd, size_t len, uint64_t offset)
{
  advise (fd, offset, len, POSIX_FADV_WILLNEED);
}

/* ---- Readahead ---- */

/* The kernel splits reads through the cache into requests of the size of the
 * readahead, usually 128 KiB.  Double this size on FUSE and NFS.  On FUSE with
 * 5 ms latency that halved the time of a sum: FUSE limits the requests in
 * flight, so more reads do not help, and FADV_WILLNEED is split, too.  On a
 * local disk a sum took longer, because threads read ahead what other threads
 * read.
 */
void
read_extend_readahead (int fd)
{
#if defined HAVE_PREADV2 && defined RWF_NOWAIT
  char byte;

  /* FUSE and NFS do not support RWF_NOWAIT. */
  if (read_flags (fd, &byte, 1, 0, RWF_NOWAIT) == -1 && errno == EOPNOTSUPP)
    advise (fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#else
  (void) fd;
#endif
}

/* Pages of the readahead cannot be distinguished from pages that were cached
 * before, so the readahead is disabled before the first read.
 */
void
read_disable_readahead (int fd)
{
  advise (fd, 0, 0, POSIX_FADV_RANDOM);
}

/* Only an actual read shows whether the kernel and the file system support
 * RWF_DONTCACHE.  If they do, they also drop pages of the readahead, so the
 * readahead is enabled again.
 */
enum read_mode
read_detect_mode (int fd)
{
#ifdef HAVE_PREADV2
  char byte;

  if (read_flags (fd, &byte, 1, 0, RWF_DONTCACHE) >= 0) {
    advise (fd, 0, 0, POSIX_FADV_NORMAL);
    return READ_DONTCACHE;
  }
#else
  (void) fd;
#endif
  return READ_ADVISE;
}

/* ---- Prefetching tables ---- */

/* Read the tables (the metadata) of an image ahead, in pieces of PREFETCH_PIECE
 * bytes.
 *
 * Background threads read the queued pieces.  If prefetch_copy needs a piece
 * that is still queued, it reads the piece itself, so it never waits for a
 * thread to start.  A piece that cannot be read is dropped, without an error:
 * the caller of prefetch_copy reads the range itself, and reports the error.
 *
 * The states of a piece:
 *
 *   NONE     it is unused
 *   QUEUED   it waits for a thread to read it
 *   READING  a thread is reading it
 *   READY    it contains data; if no piece is unused, the READY piece that was
 *            queued first is reused
 */

#define PREFETCH_MAX_THREADS 16

struct piece {
  enum { NONE, QUEUED, READING, READY } state;
  int fd;
  uint64_t start;               /* offset in the file, bytes */
  size_t len;
  void *bytes;                  /* NULL until the piece is used */
  uint64_t number;              /* sequence number in the queue */
};

struct prefetch {
  pthread_mutex_t lock;         /* protects the fields below, except the bytes
                                 * of a piece that is READING */
  pthread_cond_t has_queued, was_read;
  struct piece pieces[PREFETCH_COUNT];
  uint64_t queued;              /* number of pieces ever queued */
  pthread_t threads[PREFETCH_MAX_THREADS];
  unsigned started, idle;       /* numbers of threads; IDLE ones wait for
                                 * HAS_QUEUED */
  bool stopped;
};

struct prefetch *
prefetch_new (void)
{
  struct prefetch *prefetch = calloc (1, sizeof *prefetch);

  if (!prefetch)
    return NULL;
  pthread_mutex_init (&prefetch->lock, NULL);
  pthread_cond_init (&prefetch->has_queued, NULL);
  pthread_cond_init (&prefetch->was_read, NULL);
  return prefetch;
}

static void
stop (struct prefetch *prefetch)
{
  SCOPED_LOCK (&prefetch->lock);

  prefetch->stopped = true;
  pthread_cond_broadcast (&prefetch->has_queued);
}

void
prefetch_free (struct prefetch *prefetch)
{
  if (!prefetch)
    return;
  stop (prefetch);
  for (unsigned i = 0; i < prefetch->started; i++)
    pthread_join (prefetch->threads[i], NULL);
  for (unsigned i = 0; i < PREFETCH_COUNT; i++)
    free (prefetch->pieces[i].bytes);
  pthread_cond_destroy (&prefetch->was_read);
  pthread_cond_destroy (&prefetch->has_queued);
  pthread_mutex_destroy (&prefetch->lock);
  free (prefetch);
}

/* ---- Pieces ---- */

/* Returns the piece in STATE that was queued first, or NULL. */
static struct piece *
oldest_locked (struct prefetch *prefetch, int state)
{
  struct piece *oldest = NULL;

  for (unsigned i = 0; i < PREFETCH_COUNT; i++) {
    struct piece *piece = &prefetch->pieces[i];

    if ((int) piece->state == state &&
        (!oldest || piece->number < oldest->number))
      oldest = piece;
  }
  return oldest;
}

/* Returns the piece for OFFSET of FD in any state but NONE, or NULL. */
static struct piece *
find_locked (struct prefetch *prefetch, int fd, uint64_t offset)
{
  for (unsigned i = 0; i < PREFETCH_COUNT; i++) {
    struct piece *piece = &prefetch->pieces[i];

    if (piece->state != NONE && piece->fd == fd &&
        piece->start == ROUND_DOWN (offset, (uint64_t) PREFETCH_PIECE))
      return piece;
  }
  return NULL;
}

/* Read PIECE, which is queued.  The lock is released during the read. */
static void
read_locked (struct prefetch *prefetch, struct piece *piece)
{
  const struct read_file file = { .fd = piece->fd, .direct_fd = -1 };
  int err;

  piece->state = READING;
  pthread_mutex_unlock (&prefetch->lock);
  err = read_range (&file, piece->bytes, PREFETCH_PIECE, piece->len,
                    piece->start);
  pthread_mutex_lock (&prefetch->lock);
  piece->state = err ? NONE : READY;
  pthread_cond_broadcast (&prefetch->was_read);
}

/* ---- Threads ---- */

static void *
run_thread (void *opaque)
{
  struct prefetch *prefetch = opaque;
  SCOPED_LOCK (&prefetch->lock);

  while (!prefetch->stopped) {
    struct piece *piece = oldest_locked (prefetch, QUEUED);

    if (piece) {
      read_locked (prefetch, piece);
      continue;
    }
    prefetch->idle++;
    pthread_cond_wait (&prefetch->has_queued, &prefetch->lock);
    prefetch->idle--;
  }
  return NULL;
}

static void
start_thread_locked (struct prefetch *prefetch)
{
  if (prefetch->started < PREFETCH_MAX_THREADS &&
      pthread_create (&prefetch->threads[prefetch->started], NULL, run_thread,
                      prefetch) == 0)
    prefetch->started++;
}

/* ---- Queue and copy ---- */

static bool
queue_locked (struct prefetch *prefetch, int fd, uint64_t start, size_t len)
{
  struct piece *piece = oldest_locked (prefetch, NONE);

  if (!piece)
    piece = oldest_locked (prefetch, READY);
  if (!piece)
    return false;
  if (!piece->bytes)
    piece->bytes = read_alloc (PREFETCH_PIECE);
  if (!piece->bytes)
    return false;
  piece->state = QUEUED;
  piece->fd = fd;
  piece->start = start;
  piece->len = len;
  piece->number = prefetch->queued++;
  if (prefetch->idle == 0)
    start_thread_locked (prefetch);
  pthread_cond_signal (&prefetch->has_queued);
  return true;
}

void
prefetch_start (struct prefetch *prefetch, int fd, uint64_t size, size_t len,
                uint64_t offset)
{
  uint64_t start = ROUND_DOWN (offset, (uint64_t) PREFETCH_PIECE);
  SCOPED_LOCK (&prefetch->lock);

  for (; start < size && start < offset + len; start += PREFETCH_PIECE)
    if (!find_locked (prefetch, fd, start) &&
        !queue_locked (prefetch, fd, start,
                       MIN (PREFETCH_PIECE, size - start)))
      break;
}

bool
prefetch_copy (struct prefetch *prefetch, int fd, void *buf, size_t len,
               uint64_t offset)
{
  struct piece *piece;
  SCOPED_LOCK (&prefetch->lock);

  while ((piece = find_locked (prefetch, fd, offset)) &&
         piece->state != READY)
    if (piece->state == QUEUED)
      read_locked (prefetch, piece);
    else
      pthread_cond_wait (&prefetch->was_read, &prefetch->lock);
  if (!piece || offset - piece->start + len > piece->len)
    return false;
  memcpy (buf, (char *) piece->bytes + (offset - piece->start), len);
  return true;
}

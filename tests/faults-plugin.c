/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin of nbdkit for tests of the verify filter: a disk for each export
 * name, with faults.  The directory dir=DIR has for export NAME
 *
 *   NAME.disk      the disk
 *   NAME.wrong     a file of the same size: the wrong bytes for "replace"
 *   NAME.faults    a file with a line for each fault: KIND START END TIMES; for
 *                  bytes with several faults, the last line wins
 *
 * A fault affects the bytes from START up to, but not including, END.  KIND is
 *
 *   replace        a read returns the bytes of NAME.wrong instead
 *   short          a read does not store these bytes in the buffer
 *   fail           the read fails
 *   unreadable     the read fails, unless the bytes have been written
 *
 * TIMES is how many requests, of all connections together, are affected: the
 * first TIMES; -1: all of them; 0: every other one.
 *
 * With log=FILE the disk can be written, and FILE gets a line for each request
 * before the request is done.  The requests of all connections are then done
 * one after the other:
 *
 *   read OFFSET LENGTH FAULT...         the numbers of the faults it found
 *   write OFFSET LENGTH STORED END FUA  END is ok, fails or kill
 *   flush END
 *   misuse                              a request that is not allowed
 *
 * FILE.data gets the bytes of all writes.  Writes and flushes have these kinds
 * of fault:
 *
 *   write-fail     the write fails, and nothing is stored
 *   write-tear     the write fails, and its first half is stored
 *   write-half     the write succeeds, but only its first half is stored
 *   write-lost     the write succeeds, but nothing is stored
 *   write-kill     the first half is stored, and nbdkit is killed
 *   flush-fail     the flush fails, whatever START and END are
 *
 * min=N and max=N set the block size constraints.  With flush=no the plugin has
 * no flush; with fua=yes it has native FUA.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#define MAX_FAULTS 100

static const char *directory;
static int log_fd = -1, data_fd = -1; /* of log=FILE */
static unsigned min_size, max_size;
static bool can_flush = true, can_fua;

struct fault {
  char kind[12];
  unsigned long long start, end;
  int times;
  atomic_int found;             /* how often */
};

/* Clients of an export share its disk, which stays until the end. */
struct disk {
  struct disk *next;
  char *name;
  int fd, wrong_fd;
  struct fault faults[MAX_FAULTS];
  unsigned nr_faults;
  char *written;                /* one per byte: was it written? */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct disk *disks;

/* With log=FILE, each request holds this lock while it is logged and done. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static int
open_log (const char *path)
{
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  char data[1000];

  snprintf (data, sizeof data, "%s.data", path);
  log_fd = open (path, flags, 0600);
  data_fd = open (data, flags, 0600);
  if (log_fd != -1 && data_fd != -1)
    return 0;
  nbdkit_error ("%s: %m", path);
  return -1;
}

static int
faults_config (const char *key, const char *value)
{
  if (strcmp (key, "dir") == 0)
    directory = value;
  else if (strcmp (key, "log") == 0)
    return open_log (value);
  else if (strcmp (key, "min") == 0)
    min_size = atoi (value);
  else if (strcmp (key, "max") == 0)
    max_size = atoi (value);
  else if (strcmp (key, "flush") == 0)
    can_flush = strcmp (value, "no") != 0;
  else if (strcmp (key, "fua") == 0)
    can_fua = strcmp (value, "yes") == 0;
  else {
    nbdkit_error ("unknown parameter: %s", key);
    return -1;
  }
  return 0;
}

static int
open_file (const struct disk *disk, const char *what)
{
  char path[1000];

  snprintf (path, sizeof path, "%s/%s.%s", directory, disk->name, what);
  return open (path, O_CLOEXEC |
               (log_fd != -1 && strcmp (what, "disk") == 0
                ? O_RDWR : O_RDONLY));
}

static void
read_faults (struct disk *disk, FILE *f)
{
  while (disk->nr_faults < MAX_FAULTS) {
    struct fault *fault = &disk->faults[disk->nr_faults];

    if (fscanf (f, "%11s %llu %llu %d", fault->kind, &fault->start, &fault->end,
                &fault->times) != 4)
      break;
    disk->nr_faults++;
  }
}

static struct disk *
load_disk (const char *name)
{
  struct disk *disk = calloc (1, sizeof *disk);
  FILE *f;

  if (disk)
    disk->name = strdup (name);
  if (!disk || !disk->name)
    abort ();
  f = fdopen (open_file (disk, "faults"), "r");
  disk->fd = open_file (disk, "disk");
  disk->wrong_fd = open_file (disk, "wrong");
  if (!f || disk->fd == -1 || disk->wrong_fd == -1) {
    nbdkit_error ("%s: %m", name);
    free (disk->name);
    free (disk);
    return NULL;
  }
  read_faults (disk, f);
  fclose (f);
  disk->written = calloc (1, lseek (disk->fd, 0, SEEK_END) + 1);
  if (!disk->written)
    abort ();
  return disk;
}

static void *
faults_open (int readonly)
{
  const char *name = nbdkit_export_name ();
  struct disk *disk;

  (void) readonly;
  pthread_mutex_lock (&lock);
  for (disk = disks; disk && strcmp (disk->name, name) != 0; )
    disk = disk->next;
  if (!disk && (disk = load_disk (name))) {
    disk->next = disks;
    disks = disk;
  }
  pthread_mutex_unlock (&lock);
  return disk;
}

static void
faults_unload (void)
{
  while (disks) {
    struct disk *disk = disks;

    disks = disk->next;
    close (disk->fd);
    close (disk->wrong_fd);
    free (disk->written);
    free (disk->name);
    free (disk);
  }
}

static int64_t
faults_get_size (void *handle)
{
  const struct disk *disk = handle;
  struct stat st;

  if (fstat (disk->fd, &st) == 0)
    return st.st_size;
  nbdkit_error ("%m");
  return -1;
}

static int
faults_can_multi_conn (void *handle)
{
  (void) handle;
  return 1;
}

/* ---- The log ---- */

static void
put (int fd, const void *bytes, size_t len)
{
  if (write (fd, bytes, len) != (ssize_t) len)
    abort ();
}

static void
log_line (const char *format, ...)
{
  char line[1000];
  va_list args;
  int n;

  va_start (args, format);
  n = vsnprintf (line, sizeof line, format, args);
  va_end (args);
  put (log_fd, line, n);
}

static void
log_read (const struct disk *disk, uint32_t len, uint64_t offset,
          const bool *struck)
{
  char line[1000];
  int n = snprintf (line, sizeof line, "read %llu %u",
                    (unsigned long long) offset, len);
  unsigned i;

  for (i = 0; i < disk->nr_faults; i++)
    if (struck[i])
      n += snprintf (line + n, sizeof line - n, " %u", i);
  log_line ("%s\n", line);
}

static bool
is_allowed (const struct disk *disk, uint32_t len, uint64_t offset)
{
  uint32_t min = min_size ? min_size : 1;
  uint64_t size = lseek (disk->fd, 0, SEEK_END);

  return offset % min == 0 && (len % min == 0 || offset + len == size) &&
    (max_size == 0 || len <= max_size);
}

/* ---- Reading ---- */

/* Does a read that touches FAULT find it? */
static bool
strikes (struct fault *fault)
{
  int found = fault->found++;

  return fault->times == -1 ||
    (fault->times == 0 ? found % 2 : found < fault->times);
}

static int
read_all (int fd, char *buf, size_t len, uint64_t offset)
{
  if (pread (fd, buf, len, offset) == (ssize_t) len)
    return 0;
  nbdkit_error ("pread: %m");
  nbdkit_set_error (EIO);
  return -1;
}

/* Read what has no fault: a range that the faults STRUCK exclude is left as it
 * is.
 */
static int
read_around (const struct disk *disk, char *buf, size_t len, uint64_t offset,
             const bool *struck)
{
  char *bytes = malloc (len);
  unsigned i;
  int r = bytes ? read_all (disk->fd, bytes, len, offset) : -1;

  for (i = 0; r == 0 && i < disk->nr_faults; i++) {
    const struct fault *fault = &disk->faults[i];
    uint64_t start = fault->start < offset ? offset : fault->start;
    uint64_t end = fault->end < offset + len ? fault->end : offset + len;

    if (!struck[i])
      continue;
    if (strcmp (fault->kind, "short") == 0)
      memcpy (bytes + (start - offset), buf + (start - offset), end - start);
    else
      r = read_all (disk->wrong_fd, bytes + (start - offset), end - start,
                    start);
  }
  if (r == 0)
    memcpy (buf, bytes, len);
  free (bytes);
  return r;
}

/* Have all bytes that are both in FAULT and in the request been written? */
static bool
is_written (const struct disk *disk, const struct fault *fault, uint32_t len,
            uint64_t offset)
{
  uint64_t start = fault->start < offset ? offset : fault->start;
  uint64_t end = fault->end < offset + len ? fault->end : offset + len;

  return !memchr (disk->written + start, 0, end - start);
}

static int
do_read (struct disk *disk, void *buf, uint32_t len, uint64_t offset)
{
  bool struck[MAX_FAULTS] = { false }, fails = false;
  unsigned i;

  for (i = 0; i < disk->nr_faults; i++) {
    struct fault *fault = &disk->faults[i];
    bool unreadable = strcmp (fault->kind, "unreadable") == 0;

    if (fault->end <= offset || offset + len <= fault->start ||
        strchr (fault->kind, '-') ||
        (unreadable && is_written (disk, fault, len, offset)))
      continue;
    struck[i] = strikes (fault);
    if (struck[i] && (unreadable || strcmp (fault->kind, "fail") == 0))
      fails = true;
  }
  if (log_fd != -1)
    log_read (disk, len, offset, struck);
  if (!fails)
    return read_around (disk, buf, len, offset, struck);
  nbdkit_error ("a fault");
  nbdkit_set_error (EIO);
  return -1;
}

static int
faults_pread (void *handle, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags)
{
  struct disk *disk = handle;
  int r;

  (void) flags;
  if (log_fd == -1)
    return do_read (disk, buf, len, offset);
  pthread_mutex_lock (&log_lock);
  if (!is_allowed (disk, len, offset))
    log_line ("misuse\n");
  r = do_read (disk, buf, len, offset);
  pthread_mutex_unlock (&log_lock);
  return r;
}

/* ---- Writing ---- */

static int
fail_write (void)
{
  nbdkit_error ("a fault");
  nbdkit_set_error (EIO);
  return -1;
}

/* Returns the kind of the first fault that a write finds, or "". */
static const char *
find_write_fault (struct disk *disk, uint32_t len, uint64_t offset)
{
  unsigned i;

  for (i = 0; i < disk->nr_faults; i++) {
    struct fault *fault = &disk->faults[i];

    if (strncmp (fault->kind, "write-", 6) == 0 &&
        fault->start < offset + len && offset < fault->end && strikes (fault))
      return fault->kind + 6;
  }
  return "";
}

static int
do_write (struct disk *disk, const void *buf, uint32_t len, uint64_t offset,
          bool fua)
{
  const char *fault = find_write_fault (disk, len, offset);
  bool fails = strcmp (fault, "fail") == 0 || strcmp (fault, "tear") == 0;
  bool kills = strcmp (fault, "kill") == 0;
  uint32_t stored = !*fault ? len
    : strcmp (fault, "fail") == 0 || strcmp (fault, "lost") == 0 ? 0 : len / 2;

  put (data_fd, buf, len);
  log_line ("write %llu %u %u %s %d\n", (unsigned long long) offset, len,
            stored, fails ? "fails" : kills ? "kill" : "ok", fua);
  if (pwrite (disk->fd, buf, stored, offset) != (ssize_t) stored)
    abort ();
  memset (disk->written + offset, 1, stored);
  if (kills)
    kill (getpid (), SIGKILL);
  return fails ? fail_write () : 0;
}

static int
faults_pwrite (void *handle, const void *buf, uint32_t len, uint64_t offset,
               uint32_t flags)
{
  struct disk *disk = handle;
  int r;

  pthread_mutex_lock (&log_lock);
  if (!is_allowed (disk, len, offset))
    log_line ("misuse\n");
  r = do_write (disk, buf, len, offset, flags & NBDKIT_FLAG_FUA);
  pthread_mutex_unlock (&log_lock);
  return r;
}

static int
faults_flush (void *handle, uint32_t flags)
{
  struct disk *disk = handle;
  bool fails = false;
  unsigned i;

  (void) flags;
  pthread_mutex_lock (&log_lock);
  for (i = 0; i < disk->nr_faults; i++)
    if (strcmp (disk->faults[i].kind, "flush-fail") == 0)
      fails |= strikes (&disk->faults[i]);
  log_line ("flush %s\n", fails ? "fails" : "ok");
  pthread_mutex_unlock (&log_lock);
  return fails ? fail_write () : 0;
}

static int
faults_can_write (void *handle)
{
  (void) handle;
  return log_fd != -1;
}

static int
faults_can_flush (void *handle)
{
  (void) handle;
  return log_fd != -1 && can_flush;
}

static int
faults_can_fua (void *handle)
{
  (void) handle;
  return can_fua ? NBDKIT_FUA_NATIVE
    : can_flush ? NBDKIT_FUA_EMULATE : NBDKIT_FUA_NONE;
}

static int
faults_block_size (void *handle, uint32_t *minimum, uint32_t *preferred,
                   uint32_t *maximum)
{
  (void) handle;
  *minimum = *preferred = *maximum = 0;
  if (min_size == 0)
    return 0;
  *minimum = min_size;
  *preferred = min_size < 512 ? 512 : min_size;
  *maximum = max_size ? max_size : UINT32_MAX;
  return 0;
}

static struct nbdkit_plugin plugin = {
  .name = "faults",
  .config = faults_config,
  .unload = faults_unload,
  .open = faults_open,
  .get_size = faults_get_size,
  .can_multi_conn = faults_can_multi_conn,
  .can_write = faults_can_write,
  .can_flush = faults_can_flush,
  .can_fua = faults_can_fua,
  .block_size = faults_block_size,
  .pread = faults_pread,
  .pwrite = faults_pwrite,
  .flush = faults_flush,
};

/* What nbdkit looks for; older nbdkits do not declare it. */
struct nbdkit_plugin *plugin_init (void);

NBDKIT_REGISTER_PLUGIN (plugin)

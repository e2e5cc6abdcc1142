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
 *
 * TIMES is how many requests, of all connections together, are affected: the
 * first TIMES; -1: all of them; 0: every other one.
 *
 * min=N and max=N set the block size constraints.  A read that they do not
 * allow ends nbdkit.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
static unsigned min_size, max_size;

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
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects: */
static struct disk *disks;

static int
faults_config (const char *key, const char *value)
{
  if (strcmp (key, "dir") == 0)
    directory = value;
  else if (strcmp (key, "min") == 0)
    min_size = atoi (value);
  else if (strcmp (key, "max") == 0)
    max_size = atoi (value);
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
  return open (path, O_RDONLY | O_CLOEXEC);
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

/* ---- Reading ---- */

static bool
is_allowed (const struct disk *disk, uint32_t len, uint64_t offset)
{
  uint32_t min = min_size ? min_size : 1;
  uint64_t size = lseek (disk->fd, 0, SEEK_END);

  return offset % min == 0 && (len % min == 0 || offset + len == size) &&
    (max_size == 0 || len <= max_size);
}

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

static int
faults_pread (void *handle, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags)
{
  struct disk *disk = handle;
  bool struck[MAX_FAULTS] = { false }, fails = false;
  unsigned i;

  (void) flags;
  if (!is_allowed (disk, len, offset))
    abort ();
  for (i = 0; i < disk->nr_faults; i++) {
    struct fault *fault = &disk->faults[i];

    if (fault->end <= offset || offset + len <= fault->start)
      continue;
    struck[i] = strikes (fault);
    if (struck[i] && strcmp (fault->kind, "fail") == 0)
      fails = true;
  }
  if (!fails)
    return read_around (disk, buf, len, offset, struck);
  nbdkit_error ("a fault");
  nbdkit_set_error (EIO);
  return -1;
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
  .block_size = faults_block_size,
  .pread = faults_pread,
};

/* What nbdkit looks for; older nbdkits do not declare it. */
struct nbdkit_plugin *plugin_init (void);

NBDKIT_REGISTER_PLUGIN (plugin)

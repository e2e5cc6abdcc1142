/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin of nbdkit for tests of the verify filter: a disk in a file, with
 * faults.
 *
 *   file=PATH      the disk
 *   wrong=PATH     a file of the same size: what faults return instead
 *   faults=PATH    a file with a line for each: KIND START END TIMES; of those
 *                  for the same bytes the last one wins
 *
 * A fault is in the bytes from START on, before END.  KIND is
 *
 *   replace        they are those of the file "wrong"
 *   short          they are not stored: the buffer has what was there before
 *   fail           the read fails
 *
 * TIMES is how many reads find it, from the first one on; -1: all; 0: every
 * other read.
 */

#include <errno.h>
#include <fcntl.h>
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

static const char *file, *wrong, *list;
static int file_fd, wrong_fd;

static struct fault {
  char kind[10];
  unsigned long long start, end;
  int times;
  atomic_int found;             /* how often */
} faults[MAX_FAULTS];
static unsigned nr_faults;

static int
faults_config (const char *key, const char *value)
{
  if (strcmp (key, "file") == 0)
    file = value;
  else if (strcmp (key, "wrong") == 0)
    wrong = value;
  else if (strcmp (key, "faults") == 0)
    list = value;
  else {
    nbdkit_error ("unknown parameter: %s", key);
    return -1;
  }
  return 0;
}

static int
faults_get_ready (void)
{
  FILE *f = fopen (list, "r");

  file_fd = open (file, O_RDONLY | O_CLOEXEC);
  wrong_fd = open (wrong, O_RDONLY | O_CLOEXEC);
  if (!f || file_fd == -1 || wrong_fd == -1) {
    nbdkit_error ("%m");
    return -1;
  }
  while (nr_faults < MAX_FAULTS) {
    struct fault *fault = &faults[nr_faults];

    if (fscanf (f, "%9s %llu %llu %d", fault->kind, &fault->start, &fault->end,
                &fault->times) != 4)
      break;
    nr_faults++;
  }
  fclose (f);
  return 0;
}

static void *
faults_open (int readonly)
{
  (void) readonly;
  return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t
faults_get_size (void *handle)
{
  struct stat st;

  (void) handle;
  if (fstat (file_fd, &st) == 0)
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
read_around (char *buf, size_t len, uint64_t offset, const bool *struck)
{
  char *bytes = malloc (len);
  unsigned i;
  int r = bytes ? read_all (file_fd, bytes, len, offset) : -1;

  for (i = 0; r == 0 && i < nr_faults; i++) {
    const struct fault *fault = &faults[i];
    uint64_t start = fault->start < offset ? offset : fault->start;
    uint64_t end = fault->end < offset + len ? fault->end : offset + len;

    if (!struck[i])
      continue;
    if (strcmp (fault->kind, "short") == 0)
      memcpy (bytes + (start - offset), buf + (start - offset), end - start);
    else
      r = read_all (wrong_fd, bytes + (start - offset), end - start, start);
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
  bool struck[MAX_FAULTS] = { false }, fails = false;
  unsigned i;

  (void) handle;
  (void) flags;
  for (i = 0; i < nr_faults; i++) {
    struct fault *fault = &faults[i];

    if (fault->end <= offset || offset + len <= fault->start)
      continue;
    struck[i] = strikes (fault);
    if (struck[i] && strcmp (fault->kind, "fail") == 0)
      fails = true;
  }
  if (!fails)
    return read_around (buf, len, offset, struck);
  nbdkit_error ("a fault");
  nbdkit_set_error (EIO);
  return -1;
}

static struct nbdkit_plugin plugin = {
  .name = "faults",
  .config = faults_config,
  .get_ready = faults_get_ready,
  .open = faults_open,
  .get_size = faults_get_size,
  .can_multi_conn = faults_can_multi_conn,
  .pread = faults_pread,
};

/* What nbdkit looks for; older nbdkits do not declare it. */
struct nbdkit_plugin *plugin_init (void);

NBDKIT_REGISTER_PLUGIN (plugin)

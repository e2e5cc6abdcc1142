/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A filter for nbdkit that counts the reads in flight, and can simulate a hard
 * disk.
 *
 *   disk-counts=FILE   file of the counts, struct counts; it can be read, and
 *                      set to zero, while no read is in flight
 *   disk-rate=BYTES    of the hard disk, per second
 *   disk-seek=MS       seek time of the hard disk; needs disk-rate
 *
 * The hard disk does one read at a time.  Of the waiting reads it chooses the
 * next one in the direction in which its head moves, and begins again at the
 * lowest offset: the more reads wait, the longer each takes, and the less the
 * head moves.  A read that starts where the last one ended needs no seek.
 *
 * nbdkit's delay filter is for storage that does any number of reads at once,
 * and its rate filter permits bursts at first.
 */

#include <config.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "clock.h"

/* Counts of reads since they were set to zero. */
struct counts {
  uint64_t reads, bytes;
  uint64_t in_flight, most;     /* now, and at any time */
  uint64_t nanoseconds;         /* of all reads together */
};

/* A read that waits for the hard disk. */
struct waiting {
  struct waiting *next;
  uint64_t offset;
  bool chosen;
  pthread_cond_t is_chosen;
};

static struct counts no_file, *counts = &no_file;
static int64_t rate;
static unsigned seek;

/* Protects the counts, and the variables below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *waiting;
static bool busy;
static uint64_t head;

/* ---- Parameters ---- */

static int
map_counts (const char *path)
{
  int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *map = MAP_FAILED;

  if (fd >= 0 && ftruncate (fd, sizeof *counts) == 0)
    map = mmap (NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                0);
  if (fd >= 0)
    close (fd);
  if (map == MAP_FAILED) {
    nbdkit_error ("%s: %m", path);
    return -1;
  }
  counts = map;
  return 0;
}

static int
disk_config (nbdkit_next_config *next, nbdkit_backend *nxdata,
             const char *key, const char *value)
{
  if (strcmp (key, "disk-counts") == 0)
    return map_counts (value);
  if (strcmp (key, "disk-rate") == 0) {
    rate = nbdkit_parse_size (value);
    return rate == -1 ? -1 : 0;
  }
  if (strcmp (key, "disk-seek") == 0)
    return nbdkit_parse_unsigned (key, value, &seek);
  return next (nxdata, key, value);
}

/* ---- The hard disk ---- */

/* The next read for the head, which is removed from the list; NULL if none
 * waits.
 */
static struct waiting *
choose_locked (void)
{
  struct waiting **i, **best = &waiting, *chosen;

  for (i = &waiting; *i; i = &(*i)->next)
    /* Offsets before the head count as if they came after all others. */
    if ((*i)->offset - head < (*best)->offset - head)
      best = i;
  chosen = *best;
  if (chosen)
    *best = chosen->next;
  return chosen;
}

static void
choose_next_locked (void)
{
  struct waiting *next = choose_locked ();

  busy = next != NULL;
  if (next) {
    next->chosen = true;
    pthread_cond_signal (&next->is_chosen);
  }
}

/* One read at a time.  The time at which it ends is computed, and the next
 * waiting read begins at that time, however late its thread wakes up: so the
 * rate is the one that was requested.
 */
static void
take_time (uint64_t offset, uint32_t count, bool was_idle)
{
  static double free_at;        /* when the head is free */
  double now = seconds_now (), left;

  if (was_idle && free_at < now)
    free_at = now;
  free_at += (double) count / rate + (offset != head ? seek / 1e3 : 0);
  left = free_at - now;
  if (left > 0)
    nbdkit_nanosleep (left, (left - (unsigned) left) * 1e9);
}

static void
read_disk (uint64_t offset, uint32_t count)
{
  struct waiting me = {
    .offset = offset, .is_chosen = PTHREAD_COND_INITIALIZER
  };
  bool was_idle;

  pthread_mutex_lock (&lock);
  was_idle = !busy;
  me.next = waiting;
  waiting = &me;
  if (was_idle)
    choose_next_locked ();
  while (!me.chosen)
    pthread_cond_wait (&me.is_chosen, &lock);
  pthread_mutex_unlock (&lock);

  take_time (offset, count, was_idle);

  pthread_mutex_lock (&lock);
  head = offset + count;
  choose_next_locked ();
  pthread_mutex_unlock (&lock);
}

/* ---- Reads ---- */

static void
begin_read (uint32_t count)
{
  pthread_mutex_lock (&lock);
  counts->reads++;
  counts->bytes += count;
  counts->in_flight++;
  if (counts->most < counts->in_flight)
    counts->most = counts->in_flight;
  pthread_mutex_unlock (&lock);
}

static void
end_read (double started)
{
  pthread_mutex_lock (&lock);
  counts->in_flight--;
  counts->nanoseconds += (seconds_now () - started) * 1e9;
  pthread_mutex_unlock (&lock);
}

static int
disk_pread (nbdkit_next *next, void *handle, void *buf, uint32_t count,
            uint64_t offset, uint32_t flags, int *err)
{
  double started = seconds_now ();
  int r;

  (void) handle;
  begin_read (count);
  if (rate > 0)
    read_disk (offset, count);
  r = next->pread (next, buf, count, offset, flags, err);
  end_read (started);
  return r;
}

static struct nbdkit_filter filter = {
  .name = "disk",
  .longname = "reads in flight, and a hard disk",
  .config = disk_config,
  .pread = disk_pread,
};

NBDKIT_REGISTER_FILTER (filter)

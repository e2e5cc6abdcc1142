/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A model of slow storage: it delays reads, and counts those in flight.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "disk-model.h"

/* The content of the counts file: counts of reads since they were set to zero.
 * storage.py has the same layout.
 */
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

struct disk disk;

static struct counts no_file, *counts = &no_file;

/* Protects the counts and the variables below.  HEAD and free_at are used by
 * the chosen read only, and the lock is taken between two chosen reads.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *waiting;
static bool busy;
static uint64_t head;

int
disk_map_counts (const char *path)
{
  int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *map = MAP_FAILED;
  int err;

  if (fd >= 0 && ftruncate (fd, sizeof *counts) == 0)
    map = mmap (NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                0);
  err = errno;
  if (fd >= 0)
    close (fd);
  errno = err;
  if (map == MAP_FAILED)
    return -1;
  counts = map;
  return 0;
}

static void
sleep_for (double seconds)
{
  struct timespec left;

  if (seconds <= 0)
    return;
  left.tv_sec = seconds;
  left.tv_nsec = (seconds - left.tv_sec) * 1e9;
  while (nanosleep (&left, &left) == -1 && errno == EINTR)
    ;
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
    /* The difference wraps around, so offsets before the head come last. */
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
  double now = seconds_now ();

  if (was_idle && free_at < now)
    free_at = now;
  free_at += (double) count / disk.rate +
    (offset != head ? disk.seek / 1e3 : 0);
  sleep_for (free_at - now);
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
count_read (uint32_t count)
{
  pthread_mutex_lock (&lock);
  counts->reads++;
  counts->bytes += count;
  counts->in_flight++;
  if (counts->most < counts->in_flight)
    counts->most = counts->in_flight;
  pthread_mutex_unlock (&lock);
}

double
disk_begin (uint64_t offset, uint32_t count)
{
  double started = seconds_now ();

  count_read (count);
  if (disk.rate > 0)
    read_disk (offset, count);
  disk_look_up ();
  return started;
}

void
disk_end (double started)
{
  pthread_mutex_lock (&lock);
  counts->in_flight--;
  counts->nanoseconds += (seconds_now () - started) * 1e9;
  pthread_mutex_unlock (&lock);
}

void
disk_look_up (void)
{
  sleep_for (disk.delay / 1e3);
}

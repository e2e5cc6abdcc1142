/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A model of slow storage, for a filter and for a file system: it delays reads,
 * and counts those in flight.
 *
 * With a rate, one read is served at a time, in the order of a one-way elevator
 * (C-LOOK): the next offset after the head, and after the highest one the
 * lowest.  With a seek time this is a hard disk.  A seek takes the same time
 * over any distance; a read that starts where the last one ended needs none.
 * The delay comes after that, and any number of reads are delayed at a time.
 * All files share one range of offsets.
 *
 * All functions but disk_map_counts are thread-safe.
 */

#ifndef BENCH_DISK_MODEL_H
#define BENCH_DISK_MODEL_H

#include <stdint.h>

/* Set before the first read. */
struct disk {
  unsigned delay;               /* ms of each read and look-up, any number of
                                 * which are delayed at once */
  int64_t rate;                 /* bytes per second; 0: no limit */
  unsigned seek;                /* ms */
};

extern struct disk disk;

/* Keep the counts in the file PATH, as struct counts of disk-model.c.  It can
 * be read, and set to zero, while no read is in flight.  Returns 0, or -1 with
 * errno set.
 */
int disk_map_counts (const char *path);

/* Begin a read of COUNT bytes: wait as long as the storage would take.  Returns
 * the time at which it began, for disk_end.
 */
double disk_begin (uint64_t offset, uint32_t count);

/* The read that began at STARTED has ended.  disk-fs calls this before libfuse
 * moves the data, so there only the simulated time is counted.
 */
void disk_end (double started);

/* Wait as for a request that reads no data. */
void disk_look_up (void);

#endif /* BENCH_DISK_MODEL_H */

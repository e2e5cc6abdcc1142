/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: every lock that is taken is seen, with
 *
 *   -Wl,--wrap=pthread_mutex_init,--wrap=pthread_mutex_lock
 *   -Wl,--wrap=pthread_mutex_trylock,--wrap=pthread_mutex_unlock
 *   -Wl,--wrap=write,--wrap=pwrite,--wrap=fsync
 *   -Wl,--wrap=rename,--wrap=flock
 *
 * Locks that were initialised in one place of the code are one kind.  When two
 * kinds were ever taken in both orders, one while the other was held, or two of
 * one kind at once, the test aborts: at once, whether or not two threads were
 * there to wait for each other.  It aborts, too, when a file is written, synced
 * or moved with any lock.
 */

#ifndef NBDKIT_BLKHASH_TEST_LOCKS_H
#define NBDKIT_BLKHASH_TEST_LOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* How many this thread holds. */
unsigned locks_held (void);

/* Called before this thread writes, syncs, moves or locks a file, with "write",
 * "pwrite", "fsync", "rename" or "flock".  What it returns, unless that is 0, is the
 * errno with which that fails.
 */
extern _Thread_local int (*on_file_call) (const char *call);

/* How much this thread wrote to files, by write and pwrite. */
extern _Thread_local uint64_t file_bytes_written;

/* How often this thread took any lock, and how often LOCK since watched. */
unsigned locks_taken (void);
void locks_watch (pthread_mutex_t *lock);
unsigned locks_taken_watched (void);

/* Was LOCK ever held when one of another kind was taken?  How many such? */
unsigned locks_below (pthread_mutex_t *lock);

#endif /* NBDKIT_BLKHASH_TEST_LOCKS_H */

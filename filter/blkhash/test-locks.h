/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: intercepts every lock, and calls that change files.  A test
 * is linked with
 *
 *   -Wl,--wrap=pthread_mutex_init,--wrap=pthread_mutex_lock
 *   -Wl,--wrap=pthread_mutex_trylock,--wrap=pthread_mutex_unlock
 *   -Wl,--wrap=write,--wrap=pwrite,--wrap=fsync
 *   -Wl,--wrap=rename,--wrap=flock
 *
 * Locks are of one kind if the same place in the code initializes them; each
 * static lock is a kind of its own.  The test aborts if locks of two kinds were
 * ever nested in both orders, or if two locks of one kind were nested, even if
 * no thread waits for another.  It also aborts if a thread that holds any lock
 * writes, syncs, renames or locks a file.
 */

#ifndef NBDKIT_BLKHASH_TEST_LOCKS_H
#define NBDKIT_BLKHASH_TEST_LOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the number of locks that this thread holds. */
unsigned locks_held (void);

/* Returns true if this thread holds LOCK. */
bool locks_holds (const pthread_mutex_t *lock);

/* Called before this thread writes, syncs, renames or locks a file, with the
 * name of the call: "write", "pwrite", "fsync", "rename" or "flock".  If
 * on_file_call returns an errno value, the call fails with this value; 0: the
 * call is made.
 */
extern _Thread_local int (*on_file_call) (const char *call);

/* The number of bytes that this thread wrote with write and pwrite. */
extern _Thread_local uint64_t file_bytes_written;

/* locks_taken returns how often this thread took any lock.  locks_taken_watched
 * returns how often it took LOCK since it called locks_watch (LOCK).
 */
unsigned locks_taken (void);
void locks_watch (pthread_mutex_t *lock);
unsigned locks_taken_watched (void);

/* Returns how many kinds of locks were ever taken, directly or indirectly,
 * while a lock of the kind of LOCK was held.
 */
unsigned locks_below (pthread_mutex_t *lock);

#endif /* NBDKIT_BLKHASH_TEST_LOCKS_H */

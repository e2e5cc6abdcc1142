/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A counting semaphore, because not all systems have unnamed semaphores
 * (sem_init).
 */

#ifndef BLKSUM_SEMAPHORE_H
#define BLKSUM_SEMAPHORE_H

#include <pthread.h>

struct semaphore {
  pthread_mutex_t lock;         /* protects LEFT */
  pthread_cond_t released;
  unsigned left;                /* number of threads that can acquire the
                                 * semaphore without waiting */
};

/* COUNT threads can hold the semaphore at the same time. */
void semaphore_init (struct semaphore *semaphore, unsigned count);
void semaphore_destroy (struct semaphore *semaphore);

void semaphore_acquire (struct semaphore *semaphore);
void semaphore_release (struct semaphore *semaphore);

#endif /* BLKSUM_SEMAPHORE_H */

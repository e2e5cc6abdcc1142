/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A counting semaphore.
 */

#include <config.h>

#include "../lib/common/cleanup.h"
#include "util/semaphore.h"

void
semaphore_init (struct semaphore *semaphore, unsigned count)
{
  pthread_mutex_init (&semaphore->lock, NULL);
  pthread_cond_init (&semaphore->released, NULL);
  semaphore->left = count;
}

void
semaphore_destroy (struct semaphore *semaphore)
{
  pthread_cond_destroy (&semaphore->released);
  pthread_mutex_destroy (&semaphore->lock);
}

void
semaphore_acquire (struct semaphore *semaphore)
{
  SCOPED_LOCK (&semaphore->lock);

  while (semaphore->left == 0)
    pthread_cond_wait (&semaphore->released, &semaphore->lock);
  semaphore->left--;
}

void
semaphore_release (struct semaphore *semaphore)
{
  SCOPED_LOCK (&semaphore->lock);

  semaphore->left++;
  pthread_cond_signal (&semaphore->released);
}

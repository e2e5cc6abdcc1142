/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * exports_lock, which protects exports, disks and connections, and the order of
 * all locks.
 *
 * The lock order is: the lock of struct reading (see pass.c); exports_lock; the
 * lock of a leaf table, with the locks that the library takes below it;
 * report_lock.  No request takes saving_lock, that of the manifest, and a
 * thread that takes it holds none of the other locks.  No thread does file I/O,
 * logs or calls the plugin while it holds any of these locks.  The unit tests
 * intercept every lock and abort if these rules are violated: see test-locks.h.
 */

#ifndef NBDKIT_BLKHASH_EXPORTS_LOCK_H
#define NBDKIT_BLKHASH_EXPORTS_LOCK_H

#include <pthread.h>

extern pthread_mutex_t exports_lock;

/* Called by functions whose caller must hold exports_lock.  It does nothing,
 * but a unit test replaces it by a function that aborts if this thread does not
 * hold the lock: see test-locked.c.
 */
void exports_assert_locked (void);

#endif /* NBDKIT_BLKHASH_EXPORTS_LOCK_H */

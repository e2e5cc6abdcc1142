/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write the states of blocks to the result, the status and the mapfile.
 *
 * A thread writes the files every few seconds, and when a client disconnects,
 * if anything has changed.  So no client waits for a write, and many clients
 * that disconnect need few writes.  When the server ends, the thread ends, and
 * the files are written once more.
 *
 * Only a request that fails waits until what it has found is written, because
 * nbdkit may not live longer: nbdkit 1.32 aborts if a client that has several
 * requests in flight disconnects when one fails.  Requests that fail at the
 * same time wait for the same write.  To limit the time that a disk takes in
 * which many blocks differ, they wait only for the first writes; the status
 * does not list more ranges than that.
 */

#ifndef NBDKIT_BLKHASH_PUBLISH_H
#define NBDKIT_BLKHASH_PUBLISH_H

#include "common/output-file.h"

/* Empty the files that exist, if each looks like one that this filter wrote,
 * before anything else is done that can fail.  Another server can use them
 * until publish_open is called.  Returns 0, or -1 after nbdkit_error.
 */
int publish_withdraw (void);

/* Check that the files can be written, and that each is empty or looks like one
 * that this filter wrote.  Then empty them.  Called before nbdkit forks.
 * Returns 0, or -1 after nbdkit_error.
 */
int publish_open (void);

/* After nbdkit has changed its user and forked: check again that the files can
 * be written, and start the thread that writes them.  Returns 0, or -1 after
 * nbdkit_error.
 */
int publish_start (void);

/* Make the thread write the files now, if anything has changed, and return
 * without waiting for it.  Called when a client disconnects.
 */
void publish_wake (void);

/* A request has failed.  Make the thread write the files, and wait for it, if a
 * block that differs or is unreadable is not in the files yet.  Does not wait
 * longer than a few seconds, nor after the first 1000 of such writes.
 * Thread-safe.
 */
void publish_findings (void);

/* End the thread, and write the files once more.  Called after the last client
 * has disconnected.
 */
void publish_finish (void);

/* Close the files.  If publish_start succeeded, call publish_finish first. */
void publish_close (void);

/* Exported for unit tests: FD is ours if it begins with SIGNATURE.  With
 * FILE_UNEXAMINED errno is set.
 */
enum file_origin publish_examine (int fd, const char *signature);

/* Exported for unit tests: replace the result file.  Only one thread at a time
 * may call this.
 */
void publish_write_result (void);

#endif /* NBDKIT_BLKHASH_PUBLISH_H */

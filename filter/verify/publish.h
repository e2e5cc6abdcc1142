/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write the states of blocks to the result, the status and the mapfile.
 */

#ifndef NBDKIT_BLKHASH_PUBLISH_H
#define NBDKIT_BLKHASH_PUBLISH_H

/* Recognize files of this filter by their first bytes.
 */

/* Returns 1 if the content of FD begins with SIGNATURE, 0 if not, or -1 with
 * errno if FD cannot be read.
 */
int signature_is (int fd, const char *signature);

/* The result file: a line for each export.
 */

/* Replace the file.  Only one thread at a time may call it. */
void result_write (void);

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

#endif /* NBDKIT_BLKHASH_PUBLISH_H */

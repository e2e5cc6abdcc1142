/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write the states of blocks to the result, the status and the mapfile.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_PUBLISH_H
#define NBDKIT_BLKHASH_VERIFY_PUBLISH_H

/* Check that the files can be written and that an earlier server may have
 * written their content, and empty them.  Returns 0, or -1 after nbdkit_error.
 */
int publish_open (void);

/* After nbdkit has changed its user and forked: check again that the files can
 * be written, and start the thread that writes them.  Returns 0, or -1 after
 * nbdkit_error.
 */
int publish_start (void);

/* A client disconnects: have the thread write the files now, if anything has
 * changed.  Does not wait for it.
 */
void publish_wake (void);

/* After the last client: end the thread, and write the files once more. */
void publish_finish (void);

/* Release the files.  Requires publish_finish if publish_start succeeded. */
void publish_close (void);

#endif /* NBDKIT_BLKHASH_VERIFY_PUBLISH_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When what was found is written to files.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_PUBLISH_H
#define NBDKIT_BLKHASH_VERIFY_PUBLISH_H

/* Check that the files can be written and that an earlier server may have
 * written their content, and empty them.  0, or -1 after nbdkit_error.
 */
int publish_start (void);

/* After nbdkit has changed its user and forked: check again that the files can
 * be written, and begin to write them.
 */
int publish_begin (void);

/* A client has disconnected: write the files now. */
void publish_soon (void);

/* Write the files for the last time. */
void publish_end (void);

void publish_stop (void);

#endif /* NBDKIT_BLKHASH_VERIFY_PUBLISH_H */

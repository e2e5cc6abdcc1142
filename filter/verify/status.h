/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The status file: counts and ranges of each export, in JSON.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_STATUS_H
#define NBDKIT_BLKHASH_VERIFY_STATUS_H

#include <stdbool.h>

#include "output-file.h"

extern struct output_file status_file;

/* Replace the file.  FINISHED is set if the server ends.  Only one thread at a
 * time may call it.
 */
void status_write (bool finished);

#endif /* NBDKIT_BLKHASH_VERIFY_STATUS_H */

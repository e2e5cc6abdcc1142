/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A mapfile of GNU ddrescue: which ranges are good, bad, and not tried.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_MAPFILE_H
#define NBDKIT_BLKHASH_VERIFY_MAPFILE_H

#include "output-file.h"

extern struct output_file mapfile;

/* Replace the file.  Only one thread at a time may call this. */
void mapfile_write (void);

#endif /* NBDKIT_BLKHASH_VERIFY_MAPFILE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels of this CPU as a table, for blksum --list-kernels.
 *
 * Not public: the table is for humans, and its form can change.
 */

#ifndef BLKHASH_KERNELS_H
#define BLKHASH_KERNELS_H

/* Returns a text that the caller frees: a line with the CPU, a line of titles,
 * and for each digest a line for its library and one for each kernel that this
 * CPU can run, with its speed, which is measured now, and the numbers of blocks
 * for which it is the fastest.  That takes some milliseconds.
 *
 * Returns NULL with errno ENOMEM, or EIO if a digest or a kernel fails.
 * Thread-safe.
 */
char *kernels_describe (void);

#endif /* BLKHASH_KERNELS_H */

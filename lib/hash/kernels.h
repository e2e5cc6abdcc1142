/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A table of the kernels (SIMD implementations of hashes) that this CPU can
 * run, for blksum --list-kernels.
 *
 * Not public: the table is for humans, and its form can change.
 */

#ifndef BLKHASH_KERNELS_H
#define BLKHASH_KERNELS_H

/* Returns a text that the caller frees: a line with the CPU and a line of
 * titles.  Then, for each digest that has kernels for this CPU, a line for the
 * library that is used without a kernel, such as OpenSSL, and a line for each
 * of these kernels.  Each of these lines has the speed of the library or
 * kernel, and the numbers of blocks for which it is selected.  The speed is
 * measured in this call, which takes some milliseconds.
 *
 * Returns NULL with errno ENOMEM, or EIO if a digest or a kernel fails.
 * Thread-safe.
 */
char *kernels_describe (void);

#endif /* BLKHASH_KERNELS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two ways to tell qemu what to open: option strings, for --image-opts,
 * and json: file names.  Both have an explicit driver, so qemu never probes.
 */

#ifndef BLKSUM_QEMUOPTS_H
#define BLKSUM_QEMUOPTS_H

#include <stdbool.h>

/* The option string for an image in FORMAT in the file PATH, which can be
 * any name: qemu will not take it for a protocol.  The caller frees it; NULL
 * if there is no memory.
 */
char *qemuopts_string (const char *format, const char *path,
                       bool is_block_device, bool force_share);

/* The json: file name for the same, but no backing file is opened.  FORMAT must
 * be a plain word.  qemu does not take a PATH that is not UTF-8.
 */
char *qemuopts_json (const char *format, const char *path,
                     bool is_block_device, bool force_share);

/* The value of KEY in the option string, NULL if there is none.  The caller
 * frees it.
 */
char *qemuopts_get (const char *opts, const char *key);

/* Has the option string a key that is KEY or starts with "KEY."? */
bool qemuopts_has (const char *opts, const char *key);

/* The options that start with PREFIX, without it.  The caller frees them; NULL
 * if there is no memory.
 */
char *qemuopts_child (const char *opts, const char *prefix);

/* The option string with force-share=on, whatever it ends with.  The caller
 * frees it; NULL if there is no memory.
 */
char *qemuopts_force_share (const char *opts);

#endif /* BLKSUM_QEMUOPTS_H */

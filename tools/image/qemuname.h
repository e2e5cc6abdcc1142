/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names of files and drivers, interpreted as in qemu.
 */

#ifndef BLKSUM_QEMUNAME_H
#define BLKSUM_QEMUNAME_H

#include <stdbool.h>

struct error;

/* Is DRIVER a protocol driver, which reads plain bytes: of a local file; of any
 * storage?
 */
bool qemuname_is_local (const char *driver);
bool qemuname_is_protocol (const char *driver);

/* NAME relative to the directory of the file at PATH.  The caller frees it;
 * NULL if there is no memory.
 */
char *qemuname_in_directory_of (const char *path, const char *name);

/* The same for the name of a backing file in a header, which can have a
 * protocol.
 */
char *qemuname_resolve (const char *path, const char *name);

/* Advice for an image that names its backing file in a way that cannot be
 * checked.
 */
#define QEMUNAME_HINT \
  "describe all layers with --image-opts, as in driver=FORMAT," \
  "file.filename=IMAGE,backing.driver=FORMAT,backing.file.filename=FILE"

/* Can the file NAME, as an image names it, be checked? */
bool qemuname_is_supported (const char *name);

/* Is NAME a local file?  1 with its path in *PATH, which is a part of NAME; 0
 * if it is on a server; or -1.  FROM, the file that contains NAME, is for
 * messages; it can be NULL.
 */
int qemuname_locate (const char *from, const char *name, const char **path,
                     struct error *error);

#endif /* BLKSUM_QEMUNAME_H */

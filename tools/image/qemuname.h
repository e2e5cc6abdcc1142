/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names of files and drivers, interpreted as in qemu.
 */

#ifndef BLKSUM_QEMUNAME_H
#define BLKSUM_QEMUNAME_H

#include <stdbool.h>

struct error;

/* Is DRIVER a protocol driver, which reads raw (flat) data? */
bool qemuname_is_protocol (const char *driver);

/* Resolve NAME relative to the directory of the file at PATH.  The caller frees
 * the result.  Returns NULL if there is no memory.
 */
char *qemuname_in_directory_of (const char *path, const char *name);

/* The same, for a backing file name from a header.  Such a name can have a
 * protocol, and then it is not changed.
 */
char *qemuname_resolve (const char *path, const char *name);

/* Advice for the user if a qcow2 image names its backing file, or the format of
 * it, in a way that cannot be checked.
 */
#define QEMUNAME_HINT \
  "set its name and format with 'qemu-img rebase -u -b FILE -F FORMAT IMAGE'"

/* The end of a message: why each file of an image that is not raw must be
 * local.  Only qemu can read a file on a server, and qemu reports its size
 * rounded up to whole sectors.  So the exact size, with which the offsets in
 * the tables must be compared, is not known.
 */
#define QEMUNAME_ON_SERVER \
  "on a server, where truncation cannot be detected: copy it first, or mount " \
  "it as a local file"

/* Returns false if NAME, as recorded in an image header, has a protocol that is
 * not known to read raw data.  Such a protocol can define further nodes, so the
 * files that qemu opens cannot be checked.
 */
bool qemuname_is_checkable (const char *name);

/* Is NAME a local file?  If it is, returns 1 and sets *PATH to the path, which
 * is a part of NAME.  Returns 0 if it is on a server, or -1 if NAME is not
 * checkable.  FROM, the file whose header contains NAME, or NULL, is for the
 * message.
 */
int qemuname_locate (const char *from, const char *name, const char **path,
                     struct error *error);

#endif /* BLKSUM_QEMUNAME_H */

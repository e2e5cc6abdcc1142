/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options with which qemu opens an image: a tree like the argument of
 * blockdev-add.  Each node has a driver, so qemu never probes.
 */

#ifndef BLKSUM_QEMUOPTS_H
#define BLKSUM_QEMUOPTS_H

#include <stdbool.h>
#include <string.h>

#include "util/error.h"

struct json_object;
struct layer;

/* ---- Names of files and drivers, interpreted as in qemu ---- */

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

/* Is NAME a local file, and not on a server?  If it is, *PATH is the path,
 * which is a part of NAME.  Fails if NAME is not checkable.  FROM, the file
 * whose header contains NAME, or NULL, is for the message.
 */
enum answer qemuname_locate (const char *from, const char *name,
                             const char **path, struct error *error);

/* ---- Options ---- */

/* Returns the options for an image in FORMAT in the file PATH.  PATH can be any
 * name: qemu does not interpret it as a protocol.  If ALONE is set, no backing
 * file is opened.  The caller drops the reference to the tree with
 * json_object_put.  Returns NULL if there is no memory.
 */
struct json_object *qemuopts_of_file (const char *format, const char *path,
                                      bool is_block_device, bool alone);

/* If the backing chain of LAYER, which OPTIONS open, ends with a vpc, set the
 * option by which qemu uses the current size in its footer.  Returns false if
 * there is no memory.
 */
bool qemuopts_set_vpc_size (struct json_object *options,
                            const struct layer *layer);

/* Returns the argument with which a program of qemu opens OPTIONS, read-only;
 * with FORCE_SHARE, also if another process writes to the image.  The options
 * for both are added to OPTIONS.  The caller frees the argument.  Returns NULL
 * if there is no memory.
 */
char *qemuopts_target (struct json_object *options, bool force_share);

/* Is TARGET a file name that starts with "json:"?  Otherwise it is an option
 * string for --image-opts.
 */
static inline bool
qemuopts_is_json (const char *target)
{
  return strncmp (target, "json:", 5) == 0;
}

#endif /* BLKSUM_QEMUOPTS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Open an operand.
 */

#ifndef BLKSUM_OPEN_H
#define BLKSUM_OPEN_H

#include <stdbool.h>

struct error;
struct source;
struct source_options;

/* Does OPERAND start with a scheme and "://", as nbd+unix:///?socket=PATH does?
 * A file with such a name can be given as ./NAME.
 */
bool source_is_uri (const char *operand);

/* Open OPERAND: a file, a device, a URI, or "-".  Detect and check the format,
 * but read no data.  OPTIONS and OPERAND must outlive the source.  The calling
 * thread must not end before the source is closed, because qemu-nbd ends with
 * that thread.  Thread-safe.  Returns 0, or -1 with the reason; then *SOURCE is
 * not set.
 */
int source_open (const struct source_options *options, const char *operand,
                 struct source **source, struct error *error);

/* Open the raw image in FD, a regular file or block device.  The caller has
 * opened FD with O_DIRECT and locked it, and closes it after the source.
 * Unless OPTIONS gives the format, it is detected.  An image that is not raw is
 * refused.  Returns 0, or -1 with the reason; then *SOURCE is not set.
 */
int source_open_raw (const struct source_options *options, int fd,
                     struct source **source, struct error *error);

#endif /* BLKSUM_OPEN_H */

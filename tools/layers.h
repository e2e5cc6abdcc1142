/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All the files that make an image: the image, its backing files, their data
 * files.  For images whose format the user gave: what they name is trusted,
 * that they are complete and that qemu has nothing to probe is checked.
 */

#ifndef BLKSUM_LAYERS_H
#define BLKSUM_LAYERS_H

#include <stdbool.h>

#include "imagefile.h"

/* Check the image in FORMAT in FILE, which was opened at PATH, and what is
 * behind it.  0 or -1.
 */
int layers_check (const struct imagefile *file, const char *path,
                  const char *format, bool force_share, struct error *error);

/* Check the image that the option string of qemu, which must name a driver,
 * describes, as far as it is made of local files.  0 or -1.
 */
int layers_check_opts (const char *opts, bool force_share,
                       struct error *error);

#endif /* BLKSUM_LAYERS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export, by its URI.
 */

#ifndef BLKSUM_NBD_URI_H
#define BLKSUM_NBD_URI_H

struct error;
struct source;
struct source_options;

/* Connect to the export at URI, which must exist as long as the source.
 * Returns 0 or -1.
 */
int nbd_uri_open (const struct source_options *options, const char *uri,
                  struct source **source, struct error *error);

#endif /* BLKSUM_NBD_URI_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export, by its URI.
 */

#ifndef BLKSUM_NBD_URI_H
#define BLKSUM_NBD_URI_H

struct error;
struct nbd_handle;
struct source;
struct source_options;

/* Connect to the export at URI, which must exist as long as the source.  Returns
 * 0 or -1.
 */
int nbd_uri_open (const struct source_options *options, const char *uri,
                  struct source **source, struct error *error);

/* The same, with one connection only. */
int nbd_uri_open_single (const struct source_options *options, const char *uri,
                         struct source **source, struct error *error);

/* Open more connections to the export at URI, if the server announces
 * multi-conn, for a source of nbd_uri_open_single.  Failures are ignored.
 */
void nbd_uri_connect_others (struct source *source, const char *uri);

/* Close all connections except the first one. */
void nbd_uri_close_others (struct source *source);

/* Returns the first open connection of SOURCE, or NULL if the scan has lost or
 * closed all of them.
 */
struct nbd_handle *nbd_uri_handle (const struct source *source);

#endif /* BLKSUM_NBD_URI_H */

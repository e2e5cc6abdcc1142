/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an operand names.
 */

#ifndef BLKSUM_OPEN_H
#define BLKSUM_OPEN_H

#include <stdbool.h>

struct error;
struct source;
struct source_options;

/* A scheme and "://", as in nbd+unix:///?socket=PATH.  A file of such a name
 * can be given as ./NAME.
 */
bool source_is_uri (const char *operand);

/* Open what OPERAND names: a file, device, URI, option string, or "-".  Nothing
 * is read but what tells what it is.  OPTIONS and OPERAND must stay until the
 * source is closed.  There must be no other threads.  0, or -1 with the reason:
 * then *SOURCE is what it was.
 */
int source_open (const struct source_options *options, const char *operand,
                 struct source **source, struct error *error);

#endif /* BLKSUM_OPEN_H */

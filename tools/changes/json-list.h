/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists of changed ranges in JSON.
 */

#ifndef BLKSUM_CHANGES_JSON_LIST_H
#define BLKSUM_CHANGES_JSON_LIST_H

#include <stdint.h>
#include <stdio.h>

struct error;
struct ranges;

/* Read the list NAME from IN, and add its ranges to RANGES, without sorting
 * them.  The image has SIZE bytes.  Returns 0, or -1 with the reason.
 */
int json_list_read (FILE *in, const char *name, uint64_t size,
                    struct ranges *ranges, struct error *error);

#endif /* BLKSUM_CHANGES_JSON_LIST_H */

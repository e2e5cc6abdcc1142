/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Report the trailing data after an image on its disk, with --size.
 */

#ifndef BLKSUM_TRAILING_DATA_H
#define BLKSUM_TRAILING_DATA_H

struct trailing_data;

/* Print a line about the trailing data of the image NAME on stdout, unless the
 * disk ends with the image.  Returns 0, or an errno value if it could not be
 * written.
 */
int trailing_data_print (const char *name,
                         const struct trailing_data *trailing);

/* Print a JSON object about trailing data; or null if it was not read. */
void trailing_data_print_json (const struct trailing_data *trailing);

#endif /* BLKSUM_TRAILING_DATA_H */

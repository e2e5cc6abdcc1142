/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file with a list of changed ranges, and its format.
 */

#ifndef BLKSUM_CHANGES_FILE_H
#define BLKSUM_CHANGES_FILE_H

/* The format of the list, named after the program that prints it. */
enum changes_format {
  CHANGES_ANY,                  /* any of the formats in JSON, recognized by the
                                 * members */
  CHANGES_BLKSUM,               /* --compare --output=json */
  CHANGES_NBDINFO,              /* nbdinfo --json --map */
  CHANGES_RBD,                  /* rbd diff --format=json */
  CHANGES_VMWARE,               /* QueryChangedDiskAreas */
  CHANGES_KUBERNETES,           /* snapshot-metadata-lister -o json */
  CHANGES_DDRESCUE,             /* a mapfile, which is not JSON */
  CHANGES_FORMATS               /* number of the values above */
};

struct changes_file {
  const char *path;             /* "-" is standard input; NULL: no list */
  enum changes_format format;
};

/* Returns the name of FORMAT on the command line; NULL for CHANGES_ANY. */
const char *changes_format_name (enum changes_format format);

#endif /* BLKSUM_CHANGES_FILE_H */

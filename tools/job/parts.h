/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifests of parts of one image, in files: which blocks each has, and
 * whether they are a whole.  None stays open: there can be many.
 */

#ifndef BLKSUM_PARTS_H
#define BLKSUM_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct blkhash_manifest_reader;
struct blkhash_opts;
struct error;
struct hash_request;

struct part_file {
  const char *path;
  struct stat st;               /* when its header was read */
  uint64_t first, end;          /* blocks; the last one is before END */
  bool again;                   /* the same part as the file before */
};

struct parts {
  struct part_file *files;      /* in the order of the image */
  size_t count;
  struct blkhash_opts *opts;    /* how sums are made */
  uint64_t size;                /* of the image, bytes */
  uint64_t blocks;              /* of the image */
};

/* Read the headers of the COUNT files at PATHS, which are of one image and of
 * what the user asked for.  0, or -1 with the reason, which is about *OPERAND;
 * to be closed in any case.
 */
int parts_open (struct parts *parts, const struct hash_request *request,
                char **paths, size_t count, const char **operand,
                struct error *error);
void parts_close (struct parts *parts);

/* Do they follow each other, but for the same part again, and are they the
 * whole image?  0, or -1 with the file that overlaps another, which then is
 * *OPERAND, or with the blocks that are missing.
 */
int parts_check (struct parts *parts, const char **operand,
                 struct error *error);

/* Open FILE again, and start its reader, *READER, which the caller frees.  The
 * descriptor, or -1 with the reason, also if it is not what it was.
 */
int parts_open_again (const struct parts *parts, const struct part_file *file,
                      struct blkhash_manifest_reader **reader,
                      struct error *error);

/* In bytes of the image, where BLOCK begins, or it ends. */
uint64_t parts_offset (const struct parts *parts, uint64_t block);

#endif /* BLKSUM_PARTS_H */

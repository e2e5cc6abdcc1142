/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files with the manifests of the parts of one image: the blocks that each
 * has, and a check that all parts exist.  No file stays open, because there can
 * be many.
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
  struct stat st;               /* the file when its header was read */
  uint64_t first, end;          /* blocks from FIRST up to END, exclusive */
  bool duplicate;               /* the previous file has the same part */
};

struct parts {
  struct part_file *files;      /* in the order of the image */
  size_t count;
  struct blkhash_opts *opts;    /* the hash parameters */
  uint64_t size;                /* size of the image, bytes */
  uint64_t blocks;              /* number of blocks of the image */
};

/* Read the headers of the COUNT files at PATHS, at least one, and check that
 * they are of one image and match the request.  Returns 0, or -1 with the
 * reason, which is about *OPERAND.  PARTS must be closed in any case.
 */
int parts_open (struct parts *parts, const struct hash_request *request,
                char **paths, size_t count, const char **operand,
                struct error *error);
void parts_close (struct parts *parts);

/* Check that the parts cover the whole image, and do not overlap.  Duplicates
 * of a part are allowed.  Returns 0, or -1 with the reason: *OPERAND overlaps
 * another file, or bytes are missing.
 */
int parts_check (struct parts *parts, const char **operand,
                 struct error *error);

/* Open FILE again, and set *READER to its reader, which the caller frees.
 * Returns the descriptor, which the caller closes, or -1 with the reason, for
 * example that the file was modified.
 */
int parts_reopen (const struct parts *parts, const struct part_file *file,
                  struct blkhash_manifest_reader **reader,
                  struct error *error);

#endif /* BLKSUM_PARTS_H */

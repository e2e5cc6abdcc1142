/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where images come from.  Each source-*.c hashes one kind and stores the
 * result in a struct sum, or returns -1 with the reason; nothing is printed.
 */

#ifndef BLKSUM_SOURCE_H
#define BLKSUM_SOURCE_H

#include <stdint.h>

struct blkhash_leaves;
struct error;
struct file;
struct files;
struct image;
struct options;
struct sum;

/* Hash what OPERAND names: a file, device, URI, option string, or "-". */
int source_hash (const struct options *options, const char *operand,
                 struct sum *sum, struct error *error);

/* A raw regular file or block device, the first of FILES.  START is where the
 * image starts in it, in bytes.
 */
int source_file_hash (const struct options *options, struct files *files,
                      uint64_t start, struct sum *sum, struct error *error);

/* What FD gives until its end: a pipe, a socket, a terminal. */
int source_pipe_hash (const struct options *options, int fd,
                      struct sum *sum, struct error *error);

#ifdef HAVE_LIBNBD

/* The export that URI names. */
int source_uri_hash (const struct options *options, const char *uri,
                     struct sum *sum, struct error *error);

/* An image that qemu-nbd has to open: FILE, or what it is told by the options
 * OPERAND if FILE is NULL.  OPERAND is the path of FILE, which is one of FILES.
 */
int source_qemu_hash (const struct options *options, const struct file *file,
                      const char *operand, const struct image *image,
                      struct files *files, struct sum *sum,
                      struct error *error);

#endif /* HAVE_LIBNBD */

/* Fold a complete table, of which HOLE bytes were not read, into SUM. */
int source_fold (struct blkhash_leaves *leaves, uint64_t size, uint64_t hole,
                 struct sum *sum, struct error *error);

#endif /* BLKSUM_SOURCE_H */

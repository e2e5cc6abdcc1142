/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One of many parts, open: what it says of its blocks, from any of them on.
 */

#ifndef BLKSUM_PART_READER_H
#define BLKSUM_PART_READER_H

#include <stdint.h>

#include "blkhash-manifest.h"

struct error;
struct part_file;
struct parts;

struct part_reader {
  const struct parts *parts;
  const struct part_file *file; /* that is open, or NULL */
  int fd;
  struct blkhash_manifest_reader *reader;
  struct blkhash_manifest_run run; /* what is left of it */
  size_t leaf_size;             /* bytes */
};

/* LEAF_SIZE is that of all parts. */
void part_reader_init (struct part_reader *r, const struct parts *parts,
                       size_t leaf_size);
void part_reader_destroy (struct part_reader *r);

/* Go to BLOCK of FILE.  To go forward, no further than to its end, is cheaper
 * than to go back.  0, or -1 with the reason, which is about FILE.
 */
int part_reader_seek (struct part_reader *r, const struct part_file *file,
                      uint64_t block, struct error *error);

/* Store what is next in *RUN: blocks before END, which is a block of this file
 * or its end.  1; 0: there are none; or -1 with the reason.
 */
int part_reader_peek (struct part_reader *r, uint64_t end,
                      struct blkhash_manifest_run *run, struct error *error);

/* Take COUNT blocks, not more than were found. */
void part_reader_take (struct part_reader *r, uint64_t count);

/* Read it to its end: only then it is known that what it says is right.  Stores
 * its sum in MD, if it has one, and its length in *LEN, or 0.  0, or -1 with
 * the reason.
 */
int part_reader_finish (struct part_reader *r, unsigned char *md, unsigned *len,
                        struct error *error);

#endif /* BLKSUM_PART_READER_H */

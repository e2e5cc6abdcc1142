/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The internals of a manifest writer: manifest-writer.c has the sink, the
 * header and the end, manifest-writer-records.c the records, and
 * manifest-writer-sum.c the sum.  One thread at a time uses a writer.
 *
 * Functions return 0, ENOMEM, the error of write(2), or that of the digest
 * (EIO).
 */

#ifndef BLKHASH_MANIFEST_WRITER_H
#define BLKHASH_MANIFEST_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "construction/opts.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-sum.h"

/* Buffered output to a file or pipe, from its current offset.
 */

struct manifest_output {
  int fd;
  unsigned char *buf;
  size_t size, used;            /* bytes of BUF, and bytes of it that are not
                                 * written yet */
};

/* Returns 0 or ENOMEM. */
int manifest_output_init (struct manifest_output *output, int fd);
void manifest_output_destroy (struct manifest_output *output);

/* Append LEN bytes for the caller to fill, and return their address, which is
 * valid until the next call.  Returns NULL if there is no memory.
 */
unsigned char *manifest_output_append (struct manifest_output *output,
                                       size_t len);

/* Write the buffer.  Returns 0, or the error of write(2).  After an error the
 * caller must not write again, because part of the buffer may be in the file.
 */
int manifest_output_write (struct manifest_output *output);

struct manifest_sum;

struct blkhash_manifest_writer {
  struct manifest_output output;
  off_t start;                  /* offset of the header, if HEADER_LAST */
  struct blkhash_opts opts;
  struct manifest_header header;
  bool header_last;             /* the size is unknown until the end, so the
                                 * header is written last */
  size_t leaf_size;
  uint64_t next;                /* index of the next block */
  uint64_t first, end;          /* blocks outside of this range are ignored */
  int error;                    /* the first error */

  struct manifest_zeros zeros_leaves;
  struct manifest_sum *sum;     /* sum of the blocks before NEXT, or NULL */
  bool zero_last;               /* block NEXT - 1, which is zero, is not in SUM
                                 * yet */
  bool finished;

  size_t record;                /* start of the open record in OUTPUT */
  size_t leaves;                /* number of leaves in it; 0 if no record is
                                 * open */
  uint64_t zeros;               /* number of zero blocks before NEXT that are in
                                 * no record yet */
};

/* Append the head of a record.  FIRST is MANIFEST_END for the end record. */
int manifest_writer_head (struct blkhash_manifest_writer *w, uint64_t first,
                          uint64_t count);

/* End the record.  Its CRC continues from CRC, which is the CRC of the header
 * for the end record, and 0 for all other records.
 */
int manifest_writer_tail (struct blkhash_manifest_writer *w, uint32_t crc);

/* Append the leaves of the next COUNT blocks, which must fit in the open
 * record, or in a new one if no record is open.
 */
int manifest_writer_leaves (struct blkhash_manifest_writer *w,
                            const unsigned char *leaves, size_t count);

/* manifest_writer_close_leaves ends the open record of leaves, if there is one.
 * manifest_writer_close_zeros appends a record of zeros if W->zeros is not 0.
 */
int manifest_writer_close_leaves (struct blkhash_manifest_writer *w);
int manifest_writer_close_zeros (struct blkhash_manifest_writer *w);

/* Begin the sum; add the next COUNT blocks, of data or zeros; and when the size
 * is known, store the sum in MD.  If manifest_writer_sum_begin was not called,
 * the other three functions do nothing.
 */
int manifest_writer_sum_begin (struct blkhash_manifest_writer *w);
int manifest_writer_sum_data (struct blkhash_manifest_writer *w,
                              const unsigned char *leaves, size_t count);
int manifest_writer_sum_zeros (struct blkhash_manifest_writer *w,
                               uint64_t count);
int manifest_writer_sum_final (struct blkhash_manifest_writer *w,
                               unsigned char *md);

#endif /* BLKHASH_MANIFEST_WRITER_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A scan: fill a leaf table from an image, and return the result.  A job
 * creates the scan and owns the table; a source carries it out.
 *
 * The content is also hashed as a whole, in order, if the job has asked for it:
 * see content.h.
 *
 * Without a table nothing is hashed.  The scan is then a copy of one range.
 */

#ifndef BLKSUM_SCAN_H
#define BLKSUM_SCAN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/extent.h"

struct blkhash_leaves;
struct blkhash_opts;
struct content;
struct first_bytes;
struct progress;
struct selection;

/* Zeros that the table has beyond the end of the image. */
struct padding {
  uint32_t to_unit;             /* pad to a multiple of this number of bytes, a
                                 * power of two; 0: do not */
  uint64_t to_size;             /* pad at least to this size of the table, bytes
                                 */
};

/* Returns the size of the table for an image of SIZE bytes. */
uint64_t padding_add (const struct padding *padding, uint64_t size);

/* What a job asks for. */
struct scan_request {
  const struct blkhash_opts *opts; /* of the table */
  const struct progress *progress; /* counts all bytes; used by any thread; or
                                    * NULL */
  struct padding padding;       /* of the table */
  struct content *content;      /* receives all content, too, and counts its
                                 * progress; not for a table with padding or a
                                 * selection; NULL: none */
  const struct selection *selection; /* the missing bytes that are read; the
                                      * others become zeros in the table; NULL:
                                      * all are read */
  bool (*stopped) (void *opaque); /* returns true if the table is not needed
                                   * any more; called by any thread; or NULL */
  void *stopped_opaque;
};

struct scan {
  /* Set once. */
  struct blkhash_leaves *leaves; /* NULL: a copy */
  size_t block_size;            /* of the table, bytes */
  struct scan_request request;  /* all members are 0, unless the caller sets
                                 * them */
  unsigned char *copy;          /* for a copy: receives the bytes of the image
                                 */
  uint64_t copy_start, copy_end; /* from this offset up to that one */

  struct first_bytes *first;    /* receives the first bytes of the image; or
                                 * NULL */

  pthread_mutex_t lock;         /* protects the fields below */
  uint64_t hole, read;          /* bytes that were not read, because they were
                                 * known to be zero; and bytes that were read */
  struct error error;           /* the first error of any thread, which stops
                                 * all threads */
};

/* Initialize a scan that fills all of LEAVES, a table with blocks of BLOCK_SIZE
 * bytes.
 */
void scan_init (struct scan *scan, struct blkhash_leaves *leaves,
                size_t block_size);

/* Initialize a copy to BUF of the LEN bytes at OFFSET of the image, which are
 * in one block of BLOCK_SIZE bytes.  REQUEST.SELECTION must be NULL.  A stream
 * cannot be copied.
 */
void scan_init_copy (struct scan *scan, size_t block_size, void *buf,
                     size_t len, uint64_t offset);

void scan_destroy (struct scan *scan);

/* All functions below are thread-safe. */

/* Use LEN bytes of BUF, or of zeros, which are at OFFSET of the image: add them
 * to the table, or copy those of the range.  Zeros are also added to the
 * content; for data the reader does that, because it has the buffer.  Returns
 * 0, or an errno value.
 */
int scan_add_data (struct scan *scan, const void *buf, size_t len,
                   uint64_t offset);
int scan_add_zero (struct scan *scan, uint64_t len, uint64_t offset);

/* Set the size of the image, which was unknown, to SIZE bytes, and add the
 * padding to the table.  Returns 0, or an errno value.
 */
int scan_set_size (struct scan *scan, uint64_t size);

/* Returns the best LEN for scan_add_data; see blkhash_leaves_batch. */
size_t scan_batch_size (const struct scan *scan);

/* Count LEN bytes that were added.  If HOLE is set, they were not read. */
void scan_count (struct scan *scan, uint64_t len, bool hole);

/* Fail the scan with ERROR.  Returns false if it had failed before. */
bool scan_fail (struct scan *scan, const struct error *error);

/* Returns true if the scan has failed, or is canceled. */
bool scan_has_failed (struct scan *scan);

/* A missing_function of the cursor; OPAQUE is a struct scan. */
enum next_range scan_missing_at (void *opaque, uint64_t offset,
                                 uint64_t *start, uint64_t *len,
                                 struct error *error);

#endif /* BLKSUM_SCAN_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The internals of a manifest reader: manifest-reader.c reads the header,
 * manifest-records.c the records and the end.  One thread at a time uses a
 * reader.
 */

#ifndef BLKHASH_MANIFEST_READER_H
#define BLKHASH_MANIFEST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-input.h"
#include "manifest/manifest-zeros.h"

struct manifest_sum;

struct blkhash_manifest_reader {
  struct manifest_input input;
  unsigned flags;
  struct manifest_header header;
  uint32_t header_crc;
  size_t leaf_size;
  struct manifest_zeros zeros;
  struct manifest_sum *sum;     /* of the records before RUN, or NULL */
  struct blkhash_manifest_run run; /* of the last record, not yet in SUM; its
                                    * leaves are in INPUT */
  uint64_t unpolled;            /* blocks since the observer's POLL */
  bool ended;                   /* the end record was read; MD is valid, unless
                                 * this is the manifest of a part */
  uint64_t next, end;           /* first block of the next record; last block of
                                 * the manifest plus 1 */
  bool after_zeros;             /* the record before NEXT has zeros */
  bool after_short_data;        /* the record before NEXT has data, but fewer
                                 * than MANIFEST_MAX_LEAVES leaves */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* the sum in the file */

  int err;                      /* the first error, or ENOENT after the end */
  char error[160];              /* the reason of the last error, as text */
};

/* The same as blkhash_manifest_reader_new, but all bytes that are read are also
 * passed to OBSERVER, unless it is NULL.
 */
struct blkhash_manifest_reader *
manifest_reader_new_observed (int fd, unsigned flags,
                              const struct manifest_observer *observer,
                              char *reason, size_t size);

/* Do not compute the sum, as with BLKHASH_MANIFEST_NO_SUM.  Called before any
 * record is read.
 */
void manifest_reader_skip_sum (struct blkhash_manifest_reader *r);

/* Returns true if only the header was read. */
bool manifest_reader_is_fresh (const struct blkhash_manifest_reader *r);

/* Returns the total size in bytes of the header, the records of the runs that
 * were returned, and the end record, if it was reached.
 */
uint64_t manifest_reader_offset (const struct blkhash_manifest_reader *r);

/* Make ERR sticky: blkhash_manifest_reader_next returns it from then on.  Its
 * text is that of strerror.  Returns ERR.
 */
int manifest_reader_fail (struct blkhash_manifest_reader *r, int err);

/* Store the reason for ERR as text: FMT, or the text of strerror.  Returns ERR,
 * which does not become sticky.
 */
int manifest_reader_set_error (struct blkhash_manifest_reader *r, int err,
                               const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));
int manifest_reader_set_errno (struct blkhash_manifest_reader *r, int err);

#endif /* BLKHASH_MANIFEST_READER_H */

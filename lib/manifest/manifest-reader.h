/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read and validate a manifest, which is untrusted.  One thread at a time uses
 * a reader.
 *
 * A record is returned only after all of it was read and its CRC matched.  Its
 * numbers are checked against the header, and its size against the remaining
 * bytes of the file, before memory is allocated for it.
 * blkhash_manifest_reader_next returns ENOENT if the end record was valid and
 * no block is missing.
 */

#ifndef BLKHASH_MANIFEST_READER_H
#define BLKHASH_MANIFEST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest-sum.h"

/* ---- Input ---- */

/* READ is called with all bytes that are read from the file, in order.  POLL,
 * unless NULL, is called once for 65536 blocks, before these are added to the
 * sum.  Without a sum, it is called after a record was read.  If it returns an
 * error, the reader returns that error.
 */
struct manifest_observer {
  void (*read) (void *opaque, const void *bytes, size_t len);
  int (*poll) (void *opaque);
  void *opaque;
};

/* Buffered input from a file or pipe, from its current offset to its end. */
struct manifest_input {
  int fd;
  struct manifest_observer observer; /* all zero if there is none */
  uint64_t offset;              /* number of bytes consumed */
  uint64_t left;                /* number of bytes not consumed; UINT64_MAX if
                                 * the input is not a regular file */
  unsigned char *buf;
  size_t size;                  /* size of BUF */
  size_t start, end;            /* part of BUF that is not consumed */
};

/* The functions are exported for unit tests. */
void manifest_input_init (struct manifest_input *input, int fd);
void manifest_input_destroy (struct manifest_input *input);

/* Returns false if the input is a regular file that, by its size when INPUT was
 * initialized, has fewer than LEN bytes left.
 */
bool manifest_input_may_have (const struct manifest_input *input,
                              uint64_t len);

/* Read until LEN bytes are in the buffer, and set *BYTES to their address,
 * which is valid until the next call.  They are not consumed.  The buffer grows
 * only as bytes arrive, so a false length in the file takes no memory.  Returns
 * 0; ENODATA if the input ends earlier; ENOMEM; or the error of read(2), with
 * EIO in place of ENODATA, ENOENT and EBADMSG.
 */
int manifest_input_peek (struct manifest_input *input, size_t len,
                         const unsigned char **bytes);

/* Consume LEN bytes, which must be in the buffer. */
void manifest_input_take (struct manifest_input *input, size_t len);

/* ---- The reader ---- */

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

/* Store the reason for ERR as text.  Returns ERR, which does not become sticky.
 */
int manifest_reader_set_error (struct blkhash_manifest_reader *r, int err,
                               const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

#endif /* BLKHASH_MANIFEST_READER_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What jobs return, and what they pass to the functions of their requests.
 */

#ifndef BLKSUM_RESULT_H
#define BLKSUM_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"
#include "util/error.h"

/* The sum of one source. */
struct sum {
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned md_len;
  struct blkhash_opts *hash;    /* how it was made, which the caller frees, or
                                 * NULL: as the options say */
  char format[32];              /* of the source */
  uint64_t size;                /* bytes, and so are these, its parts: */
  uint64_t data;                /* read, and in blocks that are not all zero */
  uint64_t zero;                /* read, and in blocks that are */
  uint64_t hole;                /* known to be zero without reading */
  bool incremental;             /* a manifest said the rest, but for these: */
  uint64_t read;                /* from the image, of whatever content */
  uint64_t reads;               /* of the image; if there were any: */
  unsigned reads_in_flight;     /* the most at once */
  uint64_t latency, latency_p99; /* ns: the median, and the 99th percentile */
  double seconds;
};

enum trailing_state {
  TRAILING_NONE,
  TRAILING_UNREAD,              /* it was not searched */
  TRAILING_ZERO,
  TRAILING_DATA,
  TRAILING_BLOCK,               /* data somewhere in a block, by a manifest */
};

/* Trailing data after an image on its disk, with --size. */
struct trailing_data {
  enum trailing_state state;
  uint64_t len;                 /* bytes; not set if TRAILING_UNREAD */
  uint64_t offset;              /* on the disk, bytes: of the first that is not
                                 * zero, or of its block */
};

/* Where two images differ.  A range is passed on when it is found, so that any
 * number of them takes no memory.
 */
struct difference {
  bool differ;
  uint64_t size[2];             /* of the images, bytes; UINT64_MAX of a pipe
                                 * that has not ended */
  uint64_t nr_ranges;           /* that were found */
  uint64_t first;               /* where the first of them starts, bytes */
  struct trailing_data trailing[2]; /* with --size */
  bool incomplete;              /* trailing data could not be read */
  char *manifest_sum;           /* of the first image, if that is a manifest,
                                 * as --tag --no-names prints it, which the
                                 * caller frees; or NULL */
};

#define VERDICT_SIZE 128        /* "OK", "FAILED (subset 1/8: ...)" */

/* Of --expect. */
struct expect_result {
  bool same;
  char verdict[VERDICT_SIZE];
  struct error why;             /* it is not the same; or trailing data could
                                 * not be read */
  struct trailing_data trailing; /* if it is the same, with --size */
};

/* What a line of a list of checksums is, or says of its image. */
enum check_found {
  FOUND_MATCH,
  FOUND_MISMATCH,
  FOUND_UNREAD,                 /* the image could not be hashed */
  FOUND_INCOMPLETE,             /* the filter had no checksum for the list */
  FOUND_MISSING,                /* no such file, which is ignored */
  FOUND_MALFORMED,              /* it never was a checksum, nor a comment */
  FOUND_DAMAGED,                /* it should be one */
  FOUND_KINDS,
};

/* Of --check: a line, when its image was hashed. */
struct check_line {
  enum check_found found;
  const char *name;             /* of the image; NULL: it names none */
  const char *verdict;          /* or NULL */
  const struct error *error;    /* or NULL */
};

/* Of --check: how many lines of a list are what. */
struct check_result {
  uint64_t lines[FOUND_KINDS];
};

#endif /* BLKSUM_RESULT_H */

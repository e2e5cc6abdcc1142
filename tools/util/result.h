/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The results that jobs return, and the values that jobs pass to the callbacks
 * in their requests.
 */

#ifndef BLKSUM_RESULT_H
#define BLKSUM_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/common/sums.h"
#include "blkhash.h"
#include "util/error.h"
#include "util/first-bytes.h"

/* The sum of one source, and statistics about it. */
struct sum {
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned md_len;
  struct blkhash_opts *hash;    /* hash parameters, which the caller frees;
                                 * or NULL if they are those of the options */
  char format[32];              /* format of the source */
  uint64_t size;                /* size of the image in bytes; DATA, ZERO and
                                 * HOLE are its parts */
  uint64_t data;                /* bytes in blocks that are not all zero */
  uint64_t zero;                /* bytes read, in blocks that are all zero */
  uint64_t hole;                /* bytes known to be zero without reading */
  bool incremental;             /* only READ bytes were read; the leaves of the
                                 * rest of the image are from a manifest */
  uint64_t read;                /* bytes read from the image */
  double seconds;
  struct first_bytes first;     /* of the source */
};

/* The difference of two images.  The ranges that differ are not stored: each is
 * reported when it is found.
 */
struct difference {
  bool differ;
  uint64_t size[2];             /* sizes of the images in bytes; UINT64_MAX
                                 * for a pipe that has not ended */
  uint64_t compared_bytes;      /* the size of the part; without a part of the
                                 * larger image, or 0 if nothing was compared,
                                 * because the sizes differ */
  bool part_is_empty;           /* the part has no blocks: an error */
  uint64_t nr_ranges;           /* number of ranges found */
  uint64_t first, first_length; /* of the first range, bytes */
  uint64_t trailing[2];         /* with --size: bytes after each image;
                                 * UINT64_MAX for a pipe */
  struct first_bytes first_bytes[2]; /* of the images */
};

#define VERDICT_SIZE 128        /* "OK", "FAILED (part 1/8: ...)" */

/* The result of --expect. */
struct expect_result {
  bool same;
  char verdict[VERDICT_SIZE];
  char sum[SUM_TEXT_SIZE];      /* of the image, and the expected one; "" if it
                                 * is not known */
  char expected[SUM_TEXT_SIZE];
  uint64_t compared_bytes;      /* with a part */
  struct error why;             /* why the image is not the same */
  uint64_t trailing;            /* with --size: bytes after the image;
                                 * UINT64_MAX for a pipe */
  struct first_bytes first;     /* of the image */
};

/* The outcome for a bad block. */
enum repair_state {
  REPAIR_DONE,
  REPAIR_POSSIBLE,              /* a source has the block; with --dry-run */
  REPAIR_IMPOSSIBLE,            /* no source has it */
  REPAIR_UNALIGNED,             /* direct I/O cannot write it */
  REPAIR_FAILED,                /* it was written, and is still bad */
  REPAIR_STATES,
};

struct repair_range {
  uint64_t start, length;       /* bytes */
  enum repair_state state;
};

/* The result of blkhash repair. */
struct repair_result {
  uint32_t block_size;          /* bytes */
  uint64_t blocks[REPAIR_STATES]; /* number of bad blocks with each outcome */
  bool unverified;              /* a block was written, but not verified before
                                 * the repair failed */
};

/* The outcome for a line of a list of checksums. */
enum check_outcome {
  LINE_MATCH,
  LINE_MISMATCH,
  LINE_DIFFERS,                 /* nbdkit-blkhash-verify-filter found blocks
                                 * that differ from the manifest: a comment
                                 * "# differs" */
  LINE_UNREAD,                  /* the image could not be hashed */
  LINE_UNCHECKED,               /* the part of the image is empty */
  LINE_UNKNOWN,                 /* a filter had no checksum: a comment
                                 * "# unknown" */
  LINE_MISSING,                 /* the file does not exist, with
                                 * --ignore-missing */
  LINE_MALFORMED,               /* the line is neither a checksum nor a
                                 * comment */
  LINE_DAMAGED,                 /* the line is a checksum that is damaged, or
                                 * cannot be checked, for example because the
                                 * digest is unknown */
  LINE_OUTCOMES,
};

/* The result of a line of --check, after its image, if any, was hashed. */
struct check_line {
  enum check_outcome outcome;
  const char *name;             /* name of the image; NULL if the line has no
                                 * name */
  const char *verdict;          /* or NULL */
  const struct error *error;    /* or NULL */
  const struct expect_result *verified; /* NULL if the image was not hashed */
};

/* The result of --check: the number of lines of a list with each outcome. */
struct check_result {
  uint64_t lines[LINE_OUTCOMES];
  bool foreign;                 /* there are checksums of files */
  bool tagged;                  /* there is a checksum with a tag */
};

#endif /* BLKSUM_RESULT_H */

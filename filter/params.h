/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the filter.
 */

#ifndef NBDKIT_BLKHASH_PARAMS_H
#define NBDKIT_BLKHASH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct blkhash_opts;

enum missing {
  MISSING_READ,                 /* read what is missing */
  MISSING_FAIL,                 /* report the export as incomplete */
};

struct params {
  struct blkhash_opts *hash;    /* digest, block size, construction */
  unsigned md_len;              /* bytes of a sum */
  const char *file;             /* absolute path of the result, or NULL */
  const char *manifest;         /* ... of the manifest */
  const char *name;             /* of the default export, or NULL */
  bool tag;                     /* lines in the form of blksum --tag */
  bool distinct_exports;        /* every export name is another disk */
  enum missing missing;
  uint32_t unit;                /* bytes that a layer below may read, modify
                                 * and write as a whole */
  bool shifted;                 /* such units can begin at any byte */
};

/* Set before the server forks, read-only afterwards. */
extern struct params params;

/* 1 if KEY is ours and VALUE was taken, 0 if it is not ours, -1 on error. */
int params_config (const char *key, const char *value);

/* Check and complete them after the last params_config.  0 or -1. */
int params_complete (void);

/* Print blkhash_digests=NAME,NAME... */
void params_dump_digests (void);

void params_free (void);

#define PARAMS_HELP \
  "blkhash-file=PATH              Where the checksum goes, default: stderr.\n" \
  "blkhash-manifest=PATH          " \
    "Where the digests of all blocks go, too.\n" \
  "blkhash-digest=NAME[/SIZE]     Digest, default sha256; block size.\n" \
  "blkhash-block-size=SIZE        Block size, default 64k.\n" \
  "blkhash-streams=N              " \
    "Construction of blkhash 0.9 (64) and older.\n" \
  "blkhash-linear=true            Leave the size out of the checksum.\n" \
  "blkhash-name=NAME              " \
    "Name of the default export, default \"-\".\n" \
  "blkhash-tag=true               Print how the checksum was made.\n" \
  "blkhash-missing=read|fail      What to do about parts no client touched.\n" \
  "blkhash-distinct-exports=true  Every export name is another disk."

#endif /* NBDKIT_BLKHASH_PARAMS_H */

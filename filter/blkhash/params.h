/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the filter, and parameters of other filters that determine
 * the blocks of layers below.  One thread sets them before the server forks.
 */

#ifndef NBDKIT_BLKHASH_PARAMS_H
#define NBDKIT_BLKHASH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config-files.h"

struct blkhash_opts;

enum missing {
  MISSING_READ,                 /* read the missing ranges */
  MISSING_FAIL,                 /* report the export as unknown */
};

struct params {
  struct blkhash_opts *hash;    /* digest, block size, construction */
  const char *file;             /* absolute path of the result, or NULL */
  const char *manifest;         /* absolute path of the manifest, or NULL */
  const char *name;             /* name of the default export, or NULL */
  bool tag;                     /* lines in the form of blksum --tag */
  bool distinct_exports;        /* each export name is a different disk */
  enum missing missing;
  bool update;                  /* update the manifest of an earlier server */
  uint32_t audit;               /* share of the disk to audit, in millionths of
                                 * a percent */
  /* A change can affect all bytes of the units that it is in (visibility.h says
   * why).  The size of a unit is 64 KiB, or the block size of the hash or of a
   * layer below if one of these is larger.
   */
  uint32_t unit;                /* bytes */
  bool shifted;                 /* blocks of layers below can begin at any byte,
                                 * for instance below the offset filter */
};

/* Set before the server forks, read-only afterwards. */
extern struct params params;

/* Store VALUE if KEY is a parameter of this filter.  VALUE must stay valid,
 * because a string is not always copied.
 */
enum param_result params_config (const char *key, const char *value);

/* Check and complete the parameters after the last params_config.  Returns 0,
 * or -1 after nbdkit_error.
 */
int params_complete (void);

/* Print blkhash_digests=NAME,NAME... */
void params_dump_digests (void);

void params_free (void);

#define PARAMS_HELP \
  "blkhash-file=PATH              Write the result to PATH, default stderr.\n" \
  "blkhash-manifest=PATH          " \
    "Write the digests of all blocks to PATH.\n" \
  "blkhash-digest=SPEC            " \
    "DIGEST[/SIZE[/sN|/linear]], default sha256/64k.\n" \
  "blkhash-name=NAME              " \
    "Name of the default export, default \"-\".\n" \
  "blkhash-tag=false              Print HEX  NAME, without the spec.\n" \
  "blkhash-missing=read|fail      How to handle ranges no client accessed.\n" \
  "blkhash-update=true            Update the manifest at PATH.\n" \
  "blkhash-audit=N%               " \
    "Share of other blocks to verify, default 0.1%.\n" \
  "blkhash-distinct-exports=true  Each export name is a different disk."

#endif /* NBDKIT_BLKHASH_PARAMS_H */

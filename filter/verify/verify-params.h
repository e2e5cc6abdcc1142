/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of nbdkit-blkhash-verify-filter.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_PARAMS_H
#define NBDKIT_BLKHASH_VERIFY_PARAMS_H

#include <stdbool.h>

#include "common/config-files.h"

/* What to do about a block that differs.  An unreadable block is never served.
 */
enum verify_fail {
  FAIL_ERROR,                   /* fail the request */
  FAIL_WARN,                    /* log the block, and serve what was read */
  FAIL_STOP,                    /* fail this request and all later ones */
};

/* What to do about the blocks that are zero in the manifest.  Clients that read
 * them get zeros, except with ZERO_READ.
 */
enum verify_zero {
  ZERO_SKIP,                    /* do not verify them */
  ZERO_EXTENTS,                 /* verify them when the last client of the disk
                                 * disconnects: by the plugin's extents, and by
                                 * reading those that the extents leave open */
  ZERO_READ,                    /* read and verify them for clients, as data */
};

#define MAX_REPAIR_SOURCES 16

struct verify_params {
  const char *manifest;         /* absolute path, or NULL */
  const char *sum;              /* expected sum of the manifest, or "none" */
  const char *manifest_dir;     /* absolute path of the directory of manifests,
                                 * instead of MANIFEST */
  const char *sums;             /* absolute path of a list of the sums of these
                                 * manifests, instead of SUM */
  bool truncate;                /* the plugin's disk may be larger than the
                                 * disk of the manifest */
  enum verify_fail fail;
  unsigned retry;               /* how often a block that differs or is
                                 * unreadable is read again */
  enum verify_zero zero;
  bool has_zero;                /* the user set ZERO */
  const char *file;             /* absolute path of the result, or NULL */
  const char *name;             /* name of the disk in the result and the
                                 * status, or NULL */
  const char *status, *mapfile; /* absolute paths, or NULL */
  const char *export;           /* the only export that clients can use, if
                                 * verify_params_only_export is true; NULL: "",
                                 * which is the plugin's default */
  const char *repair[MAX_REPAIR_SOURCES]; /* absolute paths, in the order of
                                           * reading */
  unsigned nr_repair;
};

/* Set before the server forks, read-only afterwards. */
extern struct verify_params verify_params;

/* Store VALUE if KEY is a parameter of this filter. */
enum param_result verify_params_config (const char *key, const char *value);

/* Check the parameters, after the last verify_params_config.  Returns 0, or -1
 * after nbdkit_error.
 */
int verify_params_complete (void);

/* Returns true if there is a result, status or mapfile to write. */
bool verify_params_have_output (void);

/* Returns true if clients can use only one export of the plugin. */
bool verify_params_only_export (void);

#define VERIFY_PARAMS_HELP \
  "blkhash-verify-manifest=FILE    The manifest of the disk.\n" \
  "blkhash-verify-sum=SUM|none     The sum that the manifest must have.\n" \
  "blkhash-verify-manifest-dir=DIR  A manifest NAME.blkm for each export.\n" \
  "blkhash-verify-sums=LIST        The sums of these manifests.\n" \
  "blkhash-verify-size=exact|truncate  " \
    "May the plugin's disk be larger?\n" \
  "blkhash-verify-fail=error|warn|stop  " \
    "What to do about blocks that differ.\n" \
  "blkhash-verify-retry=N          " \
    "Read such a block again N times, default 1.\n" \
  "blkhash-verify-zero=skip|extents|read  " \
    "Verify blocks that must be zero?\n" \
  "blkhash-verify-file=PATH        Where the result goes.\n" \
  "blkhash-verify-name=NAME        Name in the result, default \"-\".\n" \
  "blkhash-verify-status=PATH      Where counts and ranges go, in JSON.\n" \
  "blkhash-verify-mapfile=PATH     Where a mapfile of GNU ddrescue goes.\n" \
  "blkhash-verify-export=NAME      The export that clients can use.\n" \
  "blkhash-verify-repair=FILE      A copy, read for blocks that differ."

#endif /* NBDKIT_BLKHASH_VERIFY_PARAMS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline: the leaves of the manifest of an earlier server.
 *
 * The manifest is loaded, and its sum is verified, before the first connection.
 * The first export that is used gets the leaf table.  The other exports have
 * the same disk, but begin with an empty table.
 */

#include <config.h>

#include <stddef.h>

#include "blkhash-leaves.h"

#include "baseline.h"
#include "manifest.h"
#include "params.h"
#include "report.h"
#include "table.h"

/* SIZE is set once; exports_lock protects the other variables. */
static struct blkhash_leaves *leaves; /* NULL: no baseline, or it was taken */
static uint64_t size;           /* bytes */
static bool valid;
static struct report_line line; /* has no text: see report_keep_manifest */

int
baseline_load (void)
{
  int fd = params.update ? manifest_old () : -1;

  if (fd == -1)
    return 0;
  leaves = table_load (fd, &size);
  if (!leaves)
    return -1;
  valid = true;
  report_keep_manifest (&line);
  return 0;
}

void
baseline_free (void)
{
  blkhash_leaves_free (leaves);
  leaves = NULL;
}

bool
baseline_is_valid_locked (void)
{
  return valid;
}

uint64_t
baseline_size (void)
{
  return size;
}

struct blkhash_leaves *
baseline_take_locked (uint64_t disk_size)
{
  struct blkhash_leaves *taken = leaves;

  if (!valid || disk_size != size)
    return NULL;
  leaves = NULL;
  return taken;
}

bool
baseline_withdraw_locked (void)
{
  if (!valid)
    return false;
  valid = false;
  report_withdraw (&line);
  return true;
}

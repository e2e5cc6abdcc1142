/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass reads what is missing in an export.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/numbers.h"
#include "conn.h"
#include "export.h"
#include "observe.h"
#include "pass.h"
#include "pass-read.h"

#define READ_SIZE (1024 * 1024)         /* bytes */
#define PROGRESS_STEP (UINT64_C (1) << 30) /* bytes between debug messages */

/* The smallest unit that the plugin can read, and the most it can at once. */
static void
find_read_sizes (const struct pass *p, uint64_t *unit, uint64_t *most)
{
  uint32_t minimum, preferred, maximum;

  *unit = 1;
  *most = READ_SIZE;
  if (p->next->block_size (p->next, &minimum, &preferred, &maximum) == -1)
    return;
  if (minimum > 0 && minimum <= READ_SIZE)
    *unit = minimum;
  if (maximum >= *unit && maximum < *most)
    *most = maximum;
  *most -= *most % *unit;
}

/* Read LEN bytes at OFFSET.  0, or an errno value. */
static int
read_range (const struct pass *p, void *buf, uint32_t len, uint64_t offset)
{
  struct request request;
  int err = EIO, r;

  observe_begin (p->conn, &request, offset, len);
  r = p->next->pread (p->next, buf, len, offset, 0, &err);
  if (r == 0)
    observe_data (p->conn, &request, buf);
  observe_end (p->conn, &request, 0);
  return r == 0 ? 0 : err;
}

/* As pass_read. */
static int
read_missing (const struct pass *p, void *buf, uint64_t missing)
{
  uint64_t size = p->export->size, unit, most;
  uint64_t offset = 0, start, len, done = 0, reported = 0;

  find_read_sizes (p, &unit, &most);
  while (pass_next_range (p, offset, &start, &len)) {
    int err = pass_why_stop (p);
    uint64_t end;

    if (err)
      return err;
    end = ROUND_UP (start + (len < most ? len : most), unit);
    if (end > size)
      end = size;
    start -= start % unit;
    if (end - start > most)
      end = start + most;
    err = read_range (p, buf, end - start, start);
    if (err)
      return err;
    offset = end;
    done += end - start;
    if (done - reported >= PROGRESS_STEP) {
      nbdkit_debug ("blkhash: read %" PRIu64 " of %" PRIu64 " missing bytes "
                    "of '%s'", done, missing, p->export->name);
      reported = done;
    }
  }
  return 0;
}

int
pass_read (const struct pass *p, uint64_t missing)
{
  uint64_t start, len;
  void *buf;
  int err;

  if (!pass_next_range (p, 0, &start, &len))
    return 0;
  buf = malloc (READ_SIZE);
  if (!buf)
    return ENOMEM;
  if (!p->own_only)
    nbdkit_debug ("blkhash: reading %" PRIu64 " missing bytes of '%s'",
                  missing, p->export->name);
  err = read_missing (p, buf, missing);
  free (buf);
  return err;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens when the last connection to an export leaves.
 *
 * The plugin is only read through that connection: it is there, it is
 * prepared, and it has the right name and the right thread.  Another
 * connection can open at any moment; then this one gives up, and the other
 * finishes when it leaves.
 *
 * Who only looked around must not cost a pass over the whole disk: without
 * writes, the rest is read when it is less than what clients read.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "../lib/leaves.h"
#include "export.h"
#include "finish.h"
#include "params.h"
#include "watch.h"

#define READ_SIZE (1024 * 1024)         /* bytes */
#define EXTENTS_SIZE (1u << 30)         /* bytes to ask about at once */
#define PROGRESS_STEP (UINT64_C (1) << 30) /* bytes between debug messages */
#define UNKNOWN_BYTES "the content of %" PRIu64 " bytes is not known"
#define PASSES 3                /* when exports of other names interfere */

/* Hashing a hole takes time too, about 40 s for this, which is 128 TiB in
 * blocks of 64 KiB: an export of 8 EiB, which costs nothing to serve, would
 * keep the server for weeks.
 */
#define MAX_BLOCKS (UINT64_C (1) << 31)

struct finish {
  nbdkit_next *next;
  struct conn *conn;
  struct export *export;
  struct blkhash_leaves *leaves;
  uint64_t joins;               /* export->joins when this started */
  uint64_t changes;             /* of the disk, before the fold */
};

/* Still the last? */
static bool
is_last_locked (const struct finish *f)
{
  return f->export->conns == 0 && f->export->joins == f->joins;
}

static bool
is_last (const struct finish *f)
{
  SCOPED_LOCK (&exports_lock);

  return is_last_locked (f);
}

static bool
last_failed (const struct finish *f)
{
  return __atomic_load_n (&f->conn->last_failed, __ATOMIC_RELAXED);
}

static void
no_sum (const struct finish *f, const char *why)
{
  SCOPED_LOCK (&exports_lock);

  nbdkit_debug ("blkhash: no sum of '%s': %s", f->export->name, why);
  if (is_last_locked (f)) {
    export_withdraw_locked (f->export);
    report_incomplete (&f->export->line, export_shown_name_locked (f->export),
                       why);
  }
}

/* The table is of no use any more. */
static void
give_up (const struct finish *f, const char *why)
{
  no_sum (f, why);
  SCOPED_LOCK (&exports_lock);
  f->export->broken = "its hash failed";
}

static uint64_t
missing_bytes (struct blkhash_leaves *leaves)
{
  uint64_t offset = 0, start, len, sum = 0;

  while (blkhash_leaves_next_missing (leaves, offset, &start, &len) == 0) {
    sum += len;
    offset = start + len;
  }
  return sum;
}

static uint64_t
round_up (uint64_t n, uint64_t unit)
{
  return n % unit == 0 ? n : n + (unit - n % unit);
}

/* ---- Extents ---- */

/* Ask about LEN bytes at OFFSET.  Returns where the answer ends: it can be
 * shorter.
 */
static uint64_t
ask_extents (const struct finish *f, uint64_t offset, uint32_t len)
{
  struct nbdkit_extents *extents = nbdkit_extents_new (offset, f->export->size);
  struct request request;
  struct nbdkit_extent last;
  uint64_t end = offset;
  size_t count;
  int err;

  if (!extents)
    return offset;
  learn_begin (f->conn, &request, offset, len);
  if (f->next->extents (f->next, len, offset, 0, extents, &err) == 0) {
    learn_extents (f->conn, &request, extents, false);
    count = nbdkit_extents_count (extents);
    if (count > 0) {
      last = nbdkit_get_extent (extents, count - 1);
      end = last.offset + last.length;
    }
  }
  learn_end (f->conn, &request, 0);
  nbdkit_extents_free (extents);
  return end;
}

/* When the plugin cannot answer, all that is missing has to be read. */
static void
learn_all_extents (const struct finish *f)
{
  uint64_t unit = blkhash_opts_get_block_size (params.hash);
  uint64_t offset = 0, start, len, end;

  if (f->next->can_extents (f->next) != 1)
    return;
  while (is_last (f) &&
         blkhash_leaves_next_missing (f->leaves, offset, &start, &len) == 0) {
    /* Not all plugins like to be asked about odd ranges. */
    end = round_up (start + (len < EXTENTS_SIZE ? len : EXTENTS_SIZE), unit);
    if (end > f->export->size)
      end = f->export->size;
    offset = ask_extents (f, start - start % unit, end - (start - start % unit));
    if (offset <= start)
      return;
  }
}

/* ---- Reading ---- */

/* The smallest unit that the plugin can read, and how much at once. */
static void
find_read_sizes (const struct finish *f, uint64_t *unit, uint64_t *most)
{
  uint32_t minimum, preferred, maximum;

  *unit = 1;
  *most = READ_SIZE;
  if (f->next->block_size (f->next, &minimum, &preferred, &maximum) == -1)
    return;
  if (minimum > 0 && minimum <= READ_SIZE)
    *unit = minimum;
  if (maximum >= *unit && maximum < *most)
    *most = maximum;
  *most -= *most % *unit;
}

/* Read LEN bytes at OFFSET.  0, or an errno value. */
static int
read_range (const struct finish *f, void *buf, uint32_t len, uint64_t offset)
{
  struct request request;
  int err = EIO, r;

  learn_begin (f->conn, &request, offset, len);
  r = f->next->pread (f->next, buf, len, offset, 0, &err);
  if (r == 0)
    learn_data (f->conn, &request, buf);
  learn_end (f->conn, &request, 0);
  return r == 0 ? 0 : err;
}

/* One pass over what is missing.  0, ECANCELED if there is another connection
 * now, or the errno value of a read.
 */
static int
read_pass (const struct finish *f, void *buf, uint64_t missing)
{
  uint64_t size = f->export->size, unit, most;
  uint64_t offset = 0, start, len, done = 0, told = 0;

  find_read_sizes (f, &unit, &most);
  while (blkhash_leaves_next_missing (f->leaves, offset, &start, &len) == 0) {
    uint64_t end;
    int err;

    if (!is_last (f))
      return ECANCELED;
    end = round_up (start + (len < most ? len : most), unit);
    if (end > size)
      end = size;
    start -= start % unit;
    if (end - start > most)
      end = start + most;
    err = read_range (f, buf, end - start, start);
    if (err)
      return err;
    offset = end;
    done += end - start;
    if (done - told >= PROGRESS_STEP) {
      nbdkit_debug ("blkhash: read %" PRIu64 " of %" PRIu64 " missing bytes "
                    "of '%s'", done, missing, f->export->name);
      told = done;
    }
  }
  return 0;
}

/* 0, or why the rest could not be read; ECANCELED as above. */
static int
read_rest (const struct finish *f, uint64_t missing)
{
  void *buf = malloc (READ_SIZE);
  int i, err = 0;

  if (!buf)
    return ENOMEM;
  nbdkit_debug ("blkhash: reading %" PRIu64 " missing bytes of '%s'",
                missing, f->export->name);
  for (i = 0; i < PASSES && err == 0 && missing > 0; i++) {
    err = read_pass (f, buf, missing);
    missing = missing_bytes (f->leaves);
  }
  free (buf);
  return err;
}

/* ---- The decision ---- */

static bool
may_read_rest (const struct finish *f, uint64_t missing)
{
  SCOPED_LOCK (&exports_lock);

  return f->export->written || missing < f->export->bytes_read;
}

/* Does the connection see what other ones changed?  A flush makes it so. */
static bool
sees_all_changes (const struct finish *f)
{
  uint64_t foreign = conn_foreign_changes (f->conn);
  int err;

  {
    SCOPED_LOCK (&exports_lock);

    if (!conn_is_stale_locked (f->conn))
      return true;
  }
  if (f->next->can_flush (f->next) != 1 ||
      f->next->flush (f->next, 0, &err) == -1)
    return false;
  conn_refreshed (f->conn, foreign);
  return true;
}

/* See that nothing is missing any more.  0, or -1 if there is no sum, at least
 * not now.
 */
static int
complete (const struct finish *f)
{
  uint64_t missing = missing_bytes (f->leaves);
  char why[128];
  int err;

  if (missing == 0)
    return 0;
  if (!sees_all_changes (f)) {
    no_sum (f, "the last client may not see what others changed");
    return -1;
  }
  learn_all_extents (f);
  missing = missing_bytes (f->leaves);
  if (missing == 0)
    return 0;
  snprintf (why, sizeof why, UNKNOWN_BYTES, missing);
  if (params.missing == MISSING_FAIL) {
    no_sum (f, why);
    return -1;
  }
  /* The retry filter above us closes and opens again after an error. */
  if (last_failed (f)) {
    no_sum (f, "the last request failed");
    return -1;
  }
  if (!may_read_rest (f, missing)) {
    nbdkit_debug ("blkhash: '%s': %s, waiting for another client",
                  f->export->name, why);
    return -1;
  }
  err = read_rest (f, missing);
  if (err == ECANCELED)
    return -1;
  if (err) {
    snprintf (why, sizeof why, "cannot read the rest: %s", strerror (err));
    no_sum (f, why);
    return -1;
  }
  return 0;
}

/* Others need the memory of what a client left that is gone, and the blocks can
 * be read again.  One that retries goes on where it left off.
 */
static void
give_back_pieces (const struct finish *f)
{
  SCOPED_LOCK (&exports_lock);

  if (params.missing == MISSING_READ && is_last_locked (f) && !last_failed (f))
    leaves_forget_pieces (f->leaves);
}

static void
publish (const struct finish *f, const unsigned char *md, unsigned len)
{
  struct export *export = f->export;
  SCOPED_LOCK (&exports_lock);

  if (!is_last_locked (f))
    return;
  if (export->disk->changes != f->changes || export->disk->changing > 0)
    report_incomplete (&export->line, export_shown_name_locked (export),
                       "it was changed by another export name");
  else
    export_publish_locked (export, md, len);
}

/* Why there can be no sum, as far as is known without looking any further, or
 * NULL.
 */
static const char *
why_hopeless_locked (const struct export *export)
{
  if (export->size / blkhash_opts_get_block_size (params.hash) > MAX_BLOCKS)
    return "it has more than 2^31 blocks";
  return export->broken;
}

/* False if there is nothing to do. */
static bool
start (struct finish *f, const char **why)
{
  SCOPED_LOCK (&exports_lock);

  export_catch_up_locked (f->export);
  f->joins = f->export->joins;
  f->changes = f->export->disk->changes;
  f->leaves = f->export->leaves;
  *why = why_hopeless_locked (f->export);
  return !f->export->published && is_last_locked (f);
}

static void
find_sum (struct finish *f)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  const char *why;
  unsigned len;
  int err;

  if (!start (f, &why))
    return;
  if (why) {
    no_sum (f, why);
    return;
  }
  if (complete (f) == -1) {
    give_back_pieces (f);
    return;
  }
  err = blkhash_leaves_fold (f->leaves, md, &len);
  if (err == 0)
    publish (f, md, len);
  else if (err == EBUSY || err == ENODATA)
    no_sum (f, "it changed while it was read");
  else
    give_up (f, strerror (err));
}

void
finish (nbdkit_next *next, struct conn *conn)
{
  struct finish f = { .next = next, .conn = conn, .export = conn->export };

  find_sum (&f);
  report_write ();
}

/* ---- The end of the server ---- */

/* All of it is known, but the connection that was the last did not live to
 * find out.
 */
static bool
fold_known_locked (struct export *export)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;

  if (export->disk->changing > 0 || missing_bytes (export->leaves) > 0 ||
      blkhash_leaves_fold (export->leaves, md, &len) != 0)
    return false;
  export_publish_locked (export, md, len);
  return true;
}

static void
say_final_locked (struct export *export)
{
  const char *why = why_hopeless_locked (export);
  char unknown[128];

  if (export->published)
    return;
  if (!why) {
    export_catch_up_locked (export);
    if (fold_known_locked (export))
      return;
    snprintf (unknown, sizeof unknown, UNKNOWN_BYTES,
              missing_bytes (export->leaves));
    why = unknown;
  }
  if (!export->line.text)
    report_incomplete (&export->line, export_shown_name_locked (export), why);
}

void
finish_all (void)
{
  {
    SCOPED_LOCK (&exports_lock);

    exports_foreach_locked (say_final_locked);
  }
  report_write ();
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For unit tests: images whose source is simulated, and can be made to wait
 * before it reads a certain block.
 */

#ifndef BLKSUM_TEST_SCRIPT_H
#define BLKSUM_TEST_SCRIPT_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/image-runs.h"
#include "read/scan.h"
#include "source/source.h"

#define BLOCK 512               /* bytes */

/* Blocks whose number is a multiple of ZERO are zeros; if ZERO is 0, none are.
 */
struct script {
  struct source source;
  unsigned blocks, zero;
  unsigned hold;                /* before this block, HELD is posted, and
                                 * RELEASE is waited for */
  sem_t held, release;
  const char *fails;            /* the error at the end, or NULL */

  bool stopped;                 /* scan_has_failed returned true */
  int err;                      /* of adding the last block; or 0 */
};

static struct blkhash_opts *opts;
static sem_t waits;             /* posted at each wait for a condition */

int __real_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);

int
__wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock)
{
  sem_post (&waits);
  return __real_pthread_cond_wait (cond, lock);
}

/* ---- The source ---- */

static struct blkhash_opts *
make_opts (const char *digest)
{
  struct blkhash_opts *new = blkhash_opts_new (digest);

  if (!new || blkhash_opts_set_block_size (new, BLOCK) != 0)
    abort ();
  return new;
}

static bool
is_zero_block (const struct script *script, unsigned block)
{
  return script->zero && block % script->zero == 0;
}

static int
give (struct script *script, struct scan *scan, unsigned block)
{
  unsigned char data[BLOCK] = { 0 };

  if (block == script->hold) {
    sem_post (&script->held);
    sem_wait (&script->release);
  }
  script->stopped = scan_has_failed (scan);
  if (script->stopped)
    return ECANCELED;
  memcpy (data, &block, sizeof block);
  data[BLOCK - 1] = 1;
  return is_zero_block (script, block)
    ? scan_add_zero (scan, BLOCK, (uint64_t) block * BLOCK)
    : scan_add_data (scan, data, BLOCK, (uint64_t) block * BLOCK);
}

static int
run_script (struct source *source, struct scan *scan)
{
  struct script *script = (struct script *) source;
  struct error error = { "" };
  unsigned block;

  for (block = 0; block < script->blocks && script->err == 0; block++)
    script->err = give (script, scan, block);
  if (script->err)
    error_errno (&error, script->err, "cannot hash");
  else if (script->fails)
    error_set (&error, "%s", script->fails);
  else
    return 0;
  scan_fail (scan, &error);
  return -1;
}

static const struct source_ops ops = { .scan = run_script };

/* Start to hash the image of SCRIPT, whose settings the caller has stored. */
static void
open_member (struct image_runs *image, struct script *script,
             struct image_group *group, struct error *error)
{
  const struct scan_request request = { .opts = opts };

  script->source = (struct source) {
    .ops = &ops, .size = (uint64_t) script->blocks * BLOCK
  };
  sem_init (&script->held, 0, 0);
  sem_init (&script->release, 0, 0);
  *error = (struct error) { "" };
  assert_int_equal (image_runs_open (image, &script->source, &request, group,
                                     error), 0);
}

static inline void
open_script (struct image_runs *image, struct script *script,
             struct error *error)
{
  open_member (image, script, NULL, error);
}

/* ---- The iterator ---- */

/* Read all leaves.  Returns how the iterator ended. */
static int
take_all (struct image_runs *image, const struct script *script,
          uint64_t *blocks)
{
  struct blkhash_manifest_run run;
  int err;

  *blocks = 0;
  while ((err = image->runs.next (&image->runs, &run)) == 0) {
    uint64_t i;

    assert_int_equal (run.first, *blocks);
    assert_true (run.count > 0);
    for (i = 0; i < run.count; i++)
      assert_int_equal (is_zero_block (script, run.first + i), !run.leaves);
    *blocks += run.count;
  }
  return err;
}

/* ---- The tests ---- */

static int
run_with_scripts (int (*run) (void))
{
  int failed;

  opts = make_opts ("sha256");
  sem_init (&waits, 0, 0);
  alarm (120);
  failed = run ();
  blkhash_opts_free (opts);
  return failed;
}

#endif /* BLKSUM_TEST_SCRIPT_H */

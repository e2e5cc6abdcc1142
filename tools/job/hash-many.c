/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sums of many sources; several small ones are hashed in parallel.
 *
 * Opening an image takes several reads that depend on each other, and a small
 * image has too few other reads to hide the latency of the storage.  So up to
 * IN_ORDER_MAX operands that are small files are hashed in parallel.  Together
 * they use no more memory than one image: each gets an equal share, and one
 * thread, which also opens and closes the image.  The number of threads that
 * hash at the same time is the same as for one image, while other threads wait
 * for reads.
 *
 * The small files have one common progress, in bytes.  Its total is unknown:
 * the size of each file is read only by the thread that hashes the file, so
 * that the first sum does not wait for the metadata of all operands.
 *
 * If an image fails, it is hashed again, alone, and only this result counts.
 * The images together may have needed more open files, processes or memory than
 * are allowed, and the result for an image must not depend on the other
 * operands.
 *
 * All other operands are hashed alone.  A large image keeps enough reads in
 * flight by itself.  With a format of qemu, an image can consist of many files
 * with large tables, for which qemu-nbd allocates memory.  If the format is
 * probed, an image that names another file is refused, so all data and tables
 * are in the small file.  Only the bitmaps of a qcow2 can take more memory: an
 * entry of 8 bytes can represent a cluster of ones.  So an image with bitmaps
 * is also hashed alone, and so is one with a warning, which is printed then.
 */

#include <config.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "blkhash.h"

#include "job/job.h"
#include "job/manifest.h"
#include "util/error.h"
#include "util/in-order.h"
#include "util/progress.h"
#include "util/request.h"
#include "util/result.h"
#include "util/semaphore.h"

#define SMALL (4 * 1024 * 1024) /* bytes; maximum size of a small file */
/* Few larger blocks, or none, fit into an equal share of the memory. */
#define MAX_BLOCK_SIZE (1024 * 1024)

struct result {
  int64_t size;                 /* size of a small file in bytes, or -1 */
  int r;
  struct sum sum;
  struct error error;
};

struct hash_many {
  const struct hash_request *request; /* its operand is not used */
  struct hash_request share;    /* for an image that is hashed in parallel */
  char **operands;
  bool named;                   /* the name of the operand is shown in the
                                 * progress */
  hash_many_result *result;
  void *opaque;
  const struct progress *progress; /* of small files, or NULL */
  struct result results[IN_ORDER_MAX]; /* by slot: see util/in-order.h */
};

/* Returns the size of OPERAND in bytes if it is a small file, or -1.  For
 * standard input the result must be -1, even if there is a file named "-",
 * because two operands must not read it at the same time.  In all other cases a
 * wrong result only costs time, because source_open decides what the operand
 * is.  A URI gives -1, unless a file has the same name.
 */
static int64_t
small_size (const struct hash_request *request, const char *operand)
{
  struct stat st;

  return !job_manifest_is_stdin (&request->source, operand) &&
    stat (operand, &st) == 0 && S_ISREG (st.st_mode) &&
    st.st_size <= SMALL ? st.st_size : -1;
}

static void
hash_one (struct hash_many *many, const struct hash_request *of, size_t i,
          unsigned slot)
{
  struct hash_request request = *of;
  struct result *result = &many->results[slot];

  request.operand = many->operands[i];
  if (many->named)
    request.progress.name = request.operand;
  result->error = (struct error) { "" };
  result->r = job_hash (&request, &result->sum, &result->error);
}

static bool
deliver (void *opaque, size_t i, unsigned slot)
{
  const struct hash_many *many = opaque;
  const struct result *result = &many->results[slot];

  if (result->size != -1)
    progress_add (many->progress, result->size);
  return many->result (many->opaque, many->operands[i], result->r,
                       &result->sum, &result->error);
}

/* ---- One after the other ---- */

static void
hash_in_turn (struct hash_many *many, size_t count)
{
  size_t i;
  bool more = true;

  many->results[0].size = -1;
  for (i = 0; more && i < count; i++) {
    hash_one (many, many->request, i, 0);
    more = deliver (many, i, 0);
  }
}

/* ---- Several at once ---- */

static bool
can_share (const struct hash_request *request)
{
  const struct source_options *source = &request->source;

  return !source->image_opts &&
    (!source->format || strcmp (source->format, "raw") == 0) &&
    blkhash_opts_get_block_size (request->opts) <= MAX_BLOCK_SIZE;
}

/* Returns false if the operand is not a small file, or if it failed. */
static bool
hash_together (void *opaque, size_t i, unsigned slot)
{
  struct hash_many *many = opaque;
  struct result *result = &many->results[slot];

  result->size = small_size (many->request, many->operands[i]);
  if (result->size == -1)
    return false;
  hash_one (many, &many->share, i, slot);
  return result->r == 0;
}

static void
begin_progress (struct hash_many *many)
{
  many->progress = progress_begin (&many->request->progress, PROGRESS_NO_SIZE);
}

/* Hash the operand alone, with its own progress instead of the common one. */
static void
hash_alone (void *opaque, size_t i, unsigned slot)
{
  struct hash_many *many = opaque;

  many->results[slot].size = -1;
  progress_end (many->progress, true);
  hash_one (many, many->request, i, slot);
  begin_progress (many);
}

static void
hash_in_order (struct hash_many *many, size_t count)
{
  const struct in_order in_order = {
    .count = count, .work = hash_together, .work_alone = hash_alone,
    .deliver = deliver, .opaque = many
  };
  struct semaphore hashing;
  bool all;

  semaphore_init (&hashing, many->request->source.threads);
  many->share = *many->request;
  many->share.progress.to = NULL;
  many->share.source.memory /= IN_ORDER_MAX;
  many->share.source.threads = 1;
  many->share.source.hashing = &hashing;
  many->share.source.refuse_bitmaps = true;
  many->share.source.warn = NULL; /* hashed alone, it is warned of once */
  begin_progress (many);
  all = in_order_run (&in_order);
  progress_end (many->progress, all);
  semaphore_destroy (&hashing);
}

void
job_hash_many (const struct hash_request *request, bool together,
               char **operands, size_t count, hash_many_result *result,
               void *opaque)
{
  struct hash_many many = {
    .request = request, .operands = operands, .named = count > 1,
    .result = result, .opaque = opaque,
  };

  if (together && count > 1 && can_share (request))
    hash_in_order (&many, count);
  else
    hash_in_turn (&many, count);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sums of many sources, small ones several at once.
 *
 * To open an image takes several reads that depend on each other, and a small
 * image has too few other reads to hide the latency of the storage.  So
 * consecutive operands that are small files are hashed up to IN_ORDER_MAX at a
 * time.  Together they keep to the bound on memory of one image: each gets an
 * equal share, and one thread, which also opens and closes the image.  Progress
 * is that of the whole group, in bytes of the files.
 *
 * All others are hashed one after the other.  A large image has as many reads
 * in flight alone.  With a format of qemu, an image can be of many files, with
 * large tables, for which qemu-nbd takes memory; without it, all is in the
 * small file.
 */

#include <config.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "blkhash.h"

#include "job/hash.h"
#include "job/hash-many.h"
#include "util/error.h"
#include "util/in-order.h"
#include "util/progress.h"
#include "util/request.h"
#include "util/result.h"

#define SMALL (4 * 1024 * 1024) /* bytes of a file, at most */
/* Of a block: larger ones do not fit into an equal share of the memory. */
#define MAX_BLOCK_SIZE (1024 * 1024)

struct result {
  int r;
  struct sum sum;
  struct error error;
};

struct hash_many {
  struct hash_request request;  /* of each, but for the operand */
  char **operands;
  bool named;                   /* progress says of which operand it is */
  hash_many_result *result;
  void *opaque;
  const struct progress *progress; /* of a group, or NULL */
  struct result results[IN_ORDER_MAX]; /* by slot */
};

static void
hash_one (void *opaque, size_t i, unsigned slot)
{
  struct hash_many *many = opaque;
  struct hash_request request = many->request;
  struct result *result = &many->results[slot];

  request.operand = many->operands[i];
  if (many->named)
    request.progress.name = request.operand;
  result->error = (struct error) { "" };
  result->r = job_hash (&request, &result->sum, &result->error);
}

/* The size of a small file; or -1.  What the operand is, is decided when it is
 * opened: a wrong guess costs time only.  The name of a URI or an option string
 * is that of no file.
 */
static int64_t
small_size (const char *operand)
{
  struct stat st;

  return stat (operand, &st) == 0 && S_ISREG (st.st_mode) &&
    st.st_size <= SMALL ? st.st_size : -1;
}

static bool
deliver (void *opaque, size_t i, unsigned slot)
{
  const struct hash_many *many = opaque;
  const struct result *result = &many->results[slot];
  int64_t size;

  if (many->progress && (size = small_size (many->operands[i])) > 0)
    progress_add (many->progress, size);
  return many->result (many->opaque, many->operands[i], result->r,
                       &result->sum, &result->error);
}

static bool
can_share (const struct hash_request *request)
{
  const struct source_options *source = &request->source;

  return !source->image_opts &&
    (!source->format || strcmp (source->format, "raw") == 0) &&
    blkhash_opts_get_block_size (request->opts) <= MAX_BLOCK_SIZE;
}

/* How many operands, from the first on, are small?  Stores in *TOTAL the bytes
 * of their files.
 */
static size_t
count_small (char **operands, size_t count, uint64_t *total)
{
  size_t n;
  int64_t size;

  *total = 0;
  for (n = 0; n < count && (size = small_size (operands[n])) != -1; n++)
    *total += size;
  return n;
}

/* ---- Progress of one image of a group ---- */

static void
begin_nothing (const struct progress_form *form, uint64_t size)
{
  (void) form; (void) size;
}

static void
add_nothing (uint64_t len)
{
  (void) len;
}

static void
end_nothing (bool complete)
{
  (void) complete;
}

static const struct progress no_progress = {
  .begin = begin_nothing, .add = add_nothing, .end = end_nothing
};

/* ---- Groups ---- */

static bool
hash_group (struct hash_many *many, size_t count, uint64_t total)
{
  const struct in_order in_order = {
    .count = count, .work = hash_one, .deliver = deliver, .opaque = many
  };
  bool more;

  many->progress = progress_begin (&many->request.progress, total);
  many->request.progress.to = &no_progress;
  many->request.source.memory /= IN_ORDER_MAX;
  many->request.source.threads = 1;
  more = in_order_run (&in_order);
  progress_end (many->progress, more);
  return more;
}

static bool
hash_alone (struct hash_many *many)
{
  hash_one (many, 0, 0);
  return deliver (many, 0, 0);
}

void
job_hash_many (const struct hash_request *request, bool together,
               char **operands, size_t count, hash_many_result *result,
               void *opaque)
{
  bool more = true, named = count > 1;
  uint64_t total;
  size_t n;

  together = together && can_share (request);
  for (; more && count > 0; operands += n, count -= n) {
    struct hash_many many = {
      .request = *request, .operands = operands, .named = named,
      .result = result, .opaque = opaque,
    };

    n = together ? count_small (operands, count, &total) : 0;
    if (n > 1)
      more = hash_group (&many, n, total);
    else {
      n = 1;
      more = hash_alone (&many);
    }
  }
}

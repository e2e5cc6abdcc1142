/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sums of many sources, small ones several at once.
 *
 * Opening an image takes several reads that depend on each other, and a small
 * image has too few other reads to hide the latency of the storage.  So
 * consecutive operands that are small files are hashed up to IN_ORDER_MAX at a
 * time.  Together they use no more memory than one image: each gets an equal
 * share, and one thread, which also opens and closes the image.  The progress
 * is that of the whole group, in bytes of the files.
 *
 * All other operands are hashed one after the other.  A large image keeps as
 * many reads in flight alone.  With a format of qemu, an image can consist of
 * many files with large tables, and qemu-nbd allocates memory for these.
 * Without one, all data is in the small file.
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
#include "job/manifest.h"
#include "util/error.h"
#include "util/in-order.h"
#include "util/progress.h"
#include "util/request.h"
#include "util/result.h"

#define SMALL (4 * 1024 * 1024) /* bytes: the largest small file */
/* Larger blocks do not fit into an equal share of the memory. */
#define MAX_BLOCK_SIZE (1024 * 1024)

struct result {
  int r;
  struct sum sum;
  struct error error;
};

struct hash_many {
  struct hash_request request;  /* of each operand; its own is not used */
  char **operands;
  bool named;                   /* the progress contains the operand */
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

static bool
hash_together (void *opaque, size_t i, unsigned slot)
{
  hash_one (opaque, i, slot);
  return true;
}

/* Returns the size of a small file, or -1.  Two operands must not read standard
 * input at once, even if there is a file of its name.  Otherwise source_open
 * decides what the operand is, and a wrong guess here only costs time.  A URI
 * is usually not the name of a file.
 */
static int64_t
small_size (const struct hash_request *request, const char *operand)
{
  struct stat st;

  return !job_manifest_is_stdin (&request->source, operand) &&
    stat (operand, &st) == 0 && S_ISREG (st.st_mode) &&
    st.st_size <= SMALL ? st.st_size : -1;
}

static bool
deliver (void *opaque, size_t i, unsigned slot)
{
  const struct hash_many *many = opaque;
  const struct result *result = &many->results[slot];
  int64_t size;

  if (many->progress &&
      (size = small_size (&many->request, many->operands[i])) > 0)
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

/* Returns the number of leading operands that are small, and stores the bytes
 * of their files in *TOTAL.
 */
static size_t
count_small (const struct hash_request *request, char **operands, size_t count,
             uint64_t *total)
{
  size_t n;
  int64_t size;

  *total = 0;
  for (n = 0;
       n < count && (size = small_size (request, operands[n])) != -1; n++)
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
    .count = count, .work = hash_together, .work_alone = hash_one,
    .deliver = deliver, .opaque = many
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

    n = together ? count_small (request, operands, count, &total) : 0;
    if (n > 1)
      more = hash_group (&many, n, total);
    else {
      n = 1;
      more = hash_alone (&many);
    }
  }
}

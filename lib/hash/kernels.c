/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measure the kernels (SIMD implementations of hashes), and print their speed
 * on this CPU and the numbers of blocks for which each is selected.  All of
 * this runs in the calling thread.  The plan (see lanes.h), by which the
 * process selects kernels when it hashes, does not change.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cpu.h"
#include "common/memstream.h"
#include "digest/digest.h"
#include "hash/kernels.h"
#include "lanes/lane-hashes.h"
#include "lanes/lanes.h"

/* Print the numbers of blocks for which KERNEL is selected: "2-8,16". */
static void
print_counts (FILE *out, const struct lane_plan *plan, unsigned kernel)
{
  const char *before = "";
  size_t n, last;

  for (n = 1; n <= LANES_MAX; n = last + 1) {
    for (last = n; last < LANES_MAX && plan->kernel[last + 1] == kernel &&
                   plan->kernel[n] == kernel; last++)
      ;
    if (plan->kernel[n] != kernel)
      continue;
    fprintf (out, n == last ? "%s%zu" : "%s%zu-%zu", before, n, last);
    before = ",";
  }
  fprintf (out, "%s\n", *before ? "" : "-");
}

/* CALL is the time in picoseconds in which the kernel or library NAME hashes a
 * message block in each of its LANES lanes; 0 if a kernel was not measured,
 * because it is far slower than the library.
 */
static void
print_kernel (FILE *out, const struct lane_hash *hash, const char *name,
              unsigned lanes, uint64_t call)
{
  const double gigabytes = call ? 1e3 * hash->block * lanes / call : 0;

  fprintf (out, "%-11s %-13s %5u %7.2f  ", hash->name, name, lanes, gigabytes);
}

static void
print_hash (FILE *out, const struct lane_hash *hash, const char *library,
            unsigned usable, const struct lane_costs *costs,
            const struct lane_plan *plan)
{
  size_t i;

  print_kernel (out, hash, library, 1, costs->single);
  print_counts (out, plan, LANE_NO_KERNEL);
  for (i = 0; hash->kernels[i]; i++)
    if (usable & 1u << i) {
      print_kernel (out, hash, hash->kernels[i]->name, hash->kernels[i]->lanes,
                    costs->call[i]);
      print_counts (out, plan, i);
    }
}

static int
update_single (void *ctx, const void *data, size_t len)
{
  return digest_update (ctx, data, len);
}

static int
measure_hash (FILE *out, const struct lane_hash *hash, const char *library,
              const struct lanes *lanes, struct digest_ctx *ctx)
{
  struct single_hash single = { .update = update_single, .opaque = ctx };
  struct lane_costs costs;
  struct lane_plan plan;
  int err;

  err = digest_init (ctx);
  if (err == 0)
    err = lanes_diagnose (lanes, &single, &costs, &plan);
  if (err == 0)
    print_hash (out, hash, library, lanes_usable (lanes), &costs, &plan);
  return err;
}

/* Print the lines of HASH, if it has kernels that can be used on this CPU. */
static int
describe_hash (FILE *out, const struct lane_hash *hash)
{
  struct digest *digest = digest_create (hash->name);
  struct digest_ctx *ctx = NULL;
  struct lanes *lanes = NULL;
  int err = 0;

  if (!digest)
    return errno == EINVAL ? 0 : errno;
  if (digest_is_replaceable (digest)) {
    lanes = lanes_create (hash->name);
    if (!lanes && errno != ENOTSUP)
      err = errno;
  }
  if (lanes) {
    ctx = digest_ctx_create (digest);
    err = ctx ? measure_hash (out, hash, digest_library (digest), lanes, ctx)
              : errno;
  }
  digest_ctx_free (ctx);
  lanes_free (lanes);
  digest_free (digest);
  return err;
}

char *
kernels_describe (void)
{
  char cpu[80], *text = NULL;
  size_t i, size;
  FILE *out = open_memstream (&text, &size);
  int err = 0;

  if (!out)
    return NULL;
  cpu_name (cpu, sizeof cpu);
  fprintf (out, "CPU: %s\n%-11s %-13s %5s %7s  %s\n", *cpu ? cpu : "-",
           "digest", "kernel", "lanes", "GB/s", "for blocks");
  for (i = 0; lane_hashes[i] && err == 0; i++)
    err = describe_hash (out, lane_hashes[i]);
  if (!memstream_close (out, &text) && err == 0)
    err = errno;
  if (err) {
    free (text);
    errno = err;
    return NULL;
  }
  return text;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A hash of many messages at a time: which kernel for how many of them.  Any
 * thread may use this; nothing changes once created.
 *
 * The cost of a kernel is that of one call, in hundredths of what OpenSSL needs
 * for one message of the same length on a CPU that has instructions for that
 * hash; cost_plain is what it needs without.  Costs were measured on one CPU by
 * AMD (Zen 4) and, for all others, on one by Intel (Emerald Rapids), not on this
 * one: all that they must tell is that few messages are not worth a wide kernel,
 * and which one is best for many.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "lane-hashes.h"
#include "lane-kernel.h"
#include "lanes.h"

/* One message by OpenSSL with instructions for the hash: whether the CPU has
 * them is told by our own kernels, so BLKHASH_CPU=avx2 does not compare with
 * what a CPU with AVX2 alone could not do.
 */
#define ONE_COST 100
#define SHA_INSTRUCTIONS (CPU_SHANI | CPU_ARM_SHA2)

struct lanes {
  const struct lane_hash *hash;
  bool amd;                     /* the costs of which CPU */
  size_t widest;                /* the most messages in one call */
  size_t enough;                /* the fewest at the least cost for each */
  /* For so many messages: the cheapest kernel with as many lanes, and how many
   * of them to hash next for the least cost of all.
   */
  const struct lane_kernel *kernel[LANES_MAX + 1];
  size_t next[LANES_MAX + 1];
};

/* Is NAME, or the family that it begins with, one of the words of LIST? */
static bool
is_listed (const char *name, const char *list)
{
  size_t len;

  for (;; list += len + 1) {
    len = strcspn (list, ",");
    if (strncmp (name, list, len) == 0 &&
        (name[len] == '\0' || name[len] == '-'))
      return true;
    if (list[len] == '\0')
      return false;
  }
}

static unsigned
cost (const struct lanes *lanes, const struct lane_kernel *kernel)
{
  return lanes->amd ? kernel->cost_amd : kernel->cost;
}

static void
add_kernel (struct lanes *lanes, const struct lane_kernel *kernel)
{
  size_t n;

  if (lanes->widest < kernel->lanes)
    lanes->widest = kernel->lanes;
  for (n = 1; n <= kernel->lanes; n++)
    if (!lanes->kernel[n] ||
        cost (lanes, kernel) < cost (lanes, lanes->kernel[n]))
      lanes->kernel[n] = kernel;
}

/* The least cost of N messages is that of the best next call and of what it
 * leaves; of several that are as good the largest is the next.
 */
static void
plan (struct lanes *lanes, unsigned one_cost)
{
  unsigned least[LANES_MAX + 1] = { 0, one_cost };
  size_t n, m;

  lanes->enough = 1;
  for (n = 1; n <= LANES_MAX; n++) {
    least[n] = one_cost + least[n - 1];
    lanes->next[n] = 1;
    for (m = 1; m <= n && m <= lanes->widest; m++) {
      unsigned c = cost (lanes, lanes->kernel[m]) + least[n - m];

      if (c <= least[n]) {
        least[n] = c;
        lanes->next[n] = m;
      }
    }
    if (least[n] * lanes->enough < least[lanes->enough] * n)
      lanes->enough = n;
  }
}

struct lanes *
lanes_create (const char *hash)
{
  const char *list = secure_getenv ("BLKHASH_CPU");
  const unsigned features = cpu_features ();
  unsigned used = 0;
  const struct lane_kernel *kernel;
  struct lanes *lanes;
  size_t i;

  lanes = calloc (1, sizeof *lanes);
  if (!lanes)
    return NULL;
  lanes->hash = lane_hash_find (hash);
  lanes->amd = features & CPU_AMD;
  for (i = 0; lanes->hash && (kernel = lanes->hash->kernels[i]); i++) {
    if ((kernel->cpu & ~features) || (list && !is_listed (kernel->name, list)))
      continue;
    if (!lane_kernel_works (lanes->hash, kernel)) {
      free (lanes);
      errno = EIO;
      return NULL;
    }
    add_kernel (lanes, kernel);
    used |= kernel->cpu;
  }
  if (lanes->widest == 0) {
    free (lanes);
    errno = ENOTSUP;
    return NULL;
  }
  plan (lanes, used & SHA_INSTRUCTIONS ? ONE_COST : lanes->hash->cost_plain);
  return lanes;
}

void
lanes_free (struct lanes *lanes)
{
  free (lanes);
}

size_t
lanes_next (const struct lanes *lanes, size_t count)
{
  return lanes->next[count < LANES_MAX ? count : LANES_MAX];
}

size_t
lanes_enough (const struct lanes *lanes)
{
  return lanes->enough;
}

void
lanes_hash (const struct lanes *lanes, const void *const data[], size_t len,
            unsigned char *const md[], size_t count)
{
  size_t n;

  for (; count > 0; count -= n, data += n, md += n) {
    n = count < lanes->widest ? count : lanes->widest;
    lane_kernel_hash (lanes->hash, lanes->kernel[n], data, len, md, n);
  }
}

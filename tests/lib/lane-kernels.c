/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prints the kernels that this CPU can run, for BLKHASH_CPU: one a line, its
 * digest and its name.
 */

#include <config.h>

#include <stdio.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"
#include "lanes/lanes.h"

int
main (void)
{
  unsigned features = cpu_features ();

  for (size_t h = 0; lane_hashes[h]; h++)
    for (size_t k = 0; lane_hashes[h]->kernels[k]; k++) {
      const struct lane_kernel *kernel = lane_hashes[h]->kernels[k];

      if ((kernel->cpu & ~features) == 0)
        printf ("%s %s\n", lane_hashes[h]->name, kernel->name);
    }
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the names of the SHA-256 kernels that this CPU has, for BLKHASH_CPU.
 */

#include <config.h>

#include <stdio.h>

#include "cpu.h"
#include "lane-kernel.h"

int
main (void)
{
  unsigned features = cpu_features ();

  for (size_t i = 0; sha256_kernels[i]; i++)
    if ((sha256_kernels[i]->cpu & ~features) == 0)
      puts (sha256_kernels[i]->name);
  return 0;
}

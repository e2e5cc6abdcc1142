/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "blkhash.h"

#include "cli/lists.h"
#include "cli/usage.h"

void
lists_digests (void)
{
  size_t i, count = blkhash_digests (NULL, 0);
  const char **names = calloc (count, sizeof *names);

  if (!names) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  blkhash_digests (names, count);
  for (i = 0; i < count; i++)
    puts (names[i]);
  free (names);
}

void
lists_version (void)
{
  puts ("blksum (" PACKAGE_NAME ") " PACKAGE_VERSION);
}

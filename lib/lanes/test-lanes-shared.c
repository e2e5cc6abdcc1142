/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared by the unit tests of lanes.c.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/test-digest.h"
#include "lanes/test-lanes.h"

bool
in_child (void (*run) (void))
{
  int status;
  pid_t pid;

  fflush (NULL);                /* so that exit does not print it again */
  pid = fork ();
  if (pid == 0) {
    run ();
    exit (0);                   /* not _exit: LeakSanitizer runs at exit */
  }
  return pid != -1 && waitpid (pid, &status, 0) == pid && status == 0;
}

void
make_messages (const struct lane_hash *hash, struct messages *m)
{
  size_t i;

  for (i = 0; i < sizeof m->byte; i++)
    m->byte[i] = i * i / 7;
  for (i = 0; i < MESSAGES; i++)
    check (test_digest (hash, m->byte + i, LEN, m->expected[i]));
}

unsigned
hash_messages (const struct lane_hash *hash, struct lanes *lanes,
               const struct messages *m, size_t count)
{
  unsigned char out[MESSAGES][LANE_MAX_MD];
  unsigned char *md[MESSAGES];
  const void *data[MESSAGES];
  unsigned calls = 0;
  size_t i, n;

  for (i = 0; i < count; i++) {
    md[i] = out[i];
    data[i] = m->byte + i;
  }
  for (i = 0; i < count; i += n) {
    n = lanes_hash (lanes, data + i, LEN, md + i, count - i);
    check (n <= count - i);
    if (n == 0)
      memcpy (md[i], m->expected[i], hash->md);
    else
      calls++;
    n += n == 0;
  }
  for (i = 0; i < count; i++)
    check (memcmp (out[i], m->expected[i], hash->md) == 0);
  return calls;
}

bool
has_kernels (const struct lane_hash *hash)
{
  for (size_t k = 0; hash->kernels[k]; k++)
    if (lane_kernel_is_usable (hash->kernels[k], cpu_features (), NULL))
      return true;
  return false;
}

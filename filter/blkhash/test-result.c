/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: a server with a directory of its own.
 */

#include <config.h>

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash/test-nbdkit.h"
#include "blkhash/test-result.h"
#include "blkhash/test-sums.h"

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5], manifest[sizeof directory + 9];
static uint64_t disk_size;
static uint32_t hash_block_size;

int
result_start (uint64_t size, uint32_t block_size, bool with_manifest)
{
  char bytes[16];

  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  sprintf (manifest, "%s/manifest", directory);
  snprintf (bytes, sizeof bytes, "%u", (unsigned) block_size);
  disk_size = size;
  hash_block_size = block_size;
  server_start (size, path, with_manifest ? manifest : NULL, bytes);
  return 0;
}

void
result_stop (void **state)
{
  (void) state;
  server_stop ();
  unlink (path);
  unlink (manifest);
  assert (rmdir (directory) == 0);
}

static void
read_result (char text[1024])
{
  FILE *f = fopen (path, "r");

  assert_non_null (f);
  text[fread (text, 1, 1023, f)] = '\0';
  fclose (f);
}

bool
result_has (const char *text)
{
  char all[1024];

  read_result (all);
  return strstr (all, text) != NULL;
}

bool
result_has_sum (const char *name)
{
  char sum[SUM_LEN], line[256];

  disk_sum (sum, disk_size, hash_block_size);
  snprintf (line, sizeof line, " (%s) = %s\n", name, sum);
  return result_has (line);
}

unsigned
result_sums (void)
{
  char text[1024], sum[SUM_LEN], *line, *rest = text;
  unsigned sums = 0;

  read_result (text);
  disk_sum (sum, disk_size, hash_block_size);
  while ((line = strsep (&rest, "\n")) && *line)
    if (*line != '#') {
      assert_string_equal (strrchr (line, ' ') + 1, sum);
      sums++;
    }
  return sums;
}

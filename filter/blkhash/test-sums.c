/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: the expected sum and manifest of the disk.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash-manifest.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-sums.h"

static unsigned
compute_sum (unsigned char *md, uint64_t size, uint32_t block_size)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash *h;
  unsigned len;

  blkhash_opts_set_block_size (opts, block_size);
  h = blkhash_new_opts (opts);
  if (!h || blkhash_update (h, disk, size) != 0 ||
      blkhash_final (h, md, &len) != 0)
    abort ();
  blkhash_free (h);
  blkhash_opts_free (opts);
  return len;
}

void
disk_sum (char sum[SUM_LEN], uint64_t size, uint32_t block_size)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len = compute_sum (md, size, block_size), i;

  for (i = 0; i < len; i++)
    sprintf (sum + 2 * i, "%02x", md[i]);
}

bool
manifest_is_right (const char *path, uint64_t size, uint32_t block_size)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], wanted[BLKHASH_MAX_MD_SIZE];
  int fd = open (path, O_RDONLY), err;
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, 0, NULL, 0);
  struct blkhash_manifest_run run;
  unsigned len;
  bool right;

  if (fd == -1 || !r)
    return false;
  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  right = err == ENOENT && blkhash_manifest_reader_size (r) == size &&
    blkhash_manifest_reader_sum (r, md, &len) == 0 &&
    len == compute_sum (wanted, size, block_size) &&
    memcmp (md, wanted, len) == 0;
  blkhash_manifest_reader_free (r);
  close (fd);
  return right;
}

void
manifest_make (const char *path, uint64_t size, uint32_t block_size)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  struct blkhash_leaves *l;

  blkhash_opts_set_block_size (opts, block_size);
  l = blkhash_leaves_new (opts, size, 0);
  if (fd == -1 || !l || blkhash_leaves_data (l, disk, size, 0) != 0 ||
      blkhash_leaves_save (l, fd, NULL, NULL) != 0 || close (fd) == -1)
    abort ();
  blkhash_leaves_free (l);
  blkhash_opts_free (opts);
}

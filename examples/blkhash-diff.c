/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print where the images of two manifests differ, a line for each range:
 *
 *     blkhash-diff A.blkm B.blkm
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <blkhash-manifest.h>

struct manifest {
  const char *name;
  int fd;
  struct blkhash_manifest_reader *reader;
};

static void
fail (const struct manifest *m, const char *why)
{
  fprintf (stderr, "%s: %s\n", m->name, why);
  exit (EXIT_FAILURE);
}

static void
start (struct manifest *m, const char *name)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  m->name = name;
  m->fd = open (name, O_RDONLY);
  if (m->fd == -1)
    fail (m, strerror (errno));
  m->reader = blkhash_manifest_reader_new (m->fd, 0, reason, sizeof reason);
  if (!m->reader)
    fail (m, reason);
}

static void
end (struct manifest *m)
{
  blkhash_manifest_reader_free (m->reader);
  close (m->fd);
}

static int
print_range (void *opaque, uint64_t start, uint64_t len)
{
  (void) opaque;
  return printf ("%" PRIu64 " %" PRIu64 "\n", start, len) < 0 ? EIO : 0;
}

int
main (int argc, char *argv[])
{
  if (argc != 3) {
    fprintf (stderr, "usage: blkhash-diff A.blkm B.blkm\n");
    return EXIT_FAILURE;
  }

  struct manifest a, b;

  start (&a, argv[1]);
  start (&b, argv[2]);

  int err = blkhash_manifest_diff (a.reader, b.reader, print_range, NULL);

  if (err) {
    const char *why_a = blkhash_manifest_reader_error (a.reader);
    const char *why_b = blkhash_manifest_reader_error (b.reader);

    fail (*why_a ? &a : &b, *why_a ? why_a : *why_b ? why_b : strerror (err));
  }
  end (&a);
  end (&b);
  if (fflush (stdout) == EOF || ferror (stdout)) {
    perror ("standard output");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

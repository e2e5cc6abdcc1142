/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Write the manifest of the image on standard input, which can be a pipe, to a
 * file, and print the hash:
 *
 *     blkhash-manifest FILE.blkm < IMAGE
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <blkhash-manifest.h>

static unsigned char buf[1024 * 1024];

static void
check (const char *what, int err)
{
  if (err == 0)
    return;
  fprintf (stderr, "%s: %s\n", what, strerror (err));
  exit (EXIT_FAILURE);
}

/* Hash standard input.  Returns its size.  A read may end within a block. */
static uint64_t
hash_input (struct blkhash_leaves *l)
{
  uint64_t size = 0;
  ssize_t n;

  while ((n = read (STDIN_FILENO, buf, sizeof buf)) > 0) {
    check ("data", blkhash_leaves_data (l, buf, n, size));
    size += n;
  }
  check ("standard input", n == -1 ? errno : 0);
  return size;
}

int
main (int argc, char *argv[])
{
  if (argc != 2) {
    fprintf (stderr, "usage: blkhash-manifest FILE.blkm < IMAGE\n");
    return EXIT_FAILURE;
  }

  int fd = open (argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600);

  check (argv[1], fd == -1 ? errno : 0);

  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN, fd);

  check ("writer", w ? 0 : errno);

  struct blkhash_leaves *l =
    blkhash_leaves_new (NULL, BLKHASH_SIZE_UNKNOWN,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);

  check ("table", l ? 0 : errno);

  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int len;

  check ("sink", blkhash_leaves_set_sink (l, &sink));

  uint64_t size = hash_input (l);

  check ("size", blkhash_leaves_set_size (l, size));
  check ("fold", blkhash_leaves_fold (l, NULL, NULL));
  check (argv[1], blkhash_manifest_writer_finish (w, size, md, &len));
  blkhash_leaves_free (l);
  blkhash_manifest_writer_free (w);
  check (argv[1], fsync (fd) == 0 && close (fd) == 0 ? 0 : errno);

  for (unsigned i = 0; i < len; i++)
    printf ("%02x", md[i]);
  printf ("\n");
  if (fflush (stdout) == EOF || ferror (stdout)) {
    perror ("standard output");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

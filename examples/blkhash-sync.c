/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the hash of a file, or of standard input:
 *
 *     blkhash-sync [FILE]
 *
 * One thread reads from the first byte to the last; the library hashes in
 * other threads.  Holes of the file are not read: blkhash_zero appends them.
 */

#define _GNU_SOURCE             /* SEEK_DATA */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <blkhash.h>

static unsigned char buf[1024 * 1024];

/* Append the hole at the file offset, if there is one, and move behind it.
 * Pipes have no offset, and some files no SEEK_DATA: these are read.
 */
static int
append_hole (struct blkhash *h, int fd)
{
#ifdef SEEK_DATA
  off_t pos = lseek (fd, 0, SEEK_CUR);
  off_t data = pos == -1 ? -1 : lseek (fd, pos, SEEK_DATA);

  if (pos != -1 && data == -1 && errno == ENXIO) /* a hole up to the end */
    data = lseek (fd, 0, SEEK_END);

  while (pos < data) {
    size_t len = data - pos < 1 << 30 ? data - pos : 1 << 30;
    int err = blkhash_zero (h, len);

    if (err)
      return err;
    pos += len;
  }
#endif
  return 0;
}

static int
append_file (struct blkhash *h, int fd)
{
  for (;;) {
    int err = append_hole (h, fd);

    if (err)
      return err;

    ssize_t n = read (fd, buf, sizeof buf);

    if (n == -1 && errno == EINTR)
      continue;
    if (n <= 0)
      return n == 0 ? 0 : errno;
    err = blkhash_update (h, buf, n);
    if (err)
      return err;
  }
}

int
main (int argc, char *argv[])
{
  const char *name = argc > 1 ? argv[1] : "-";
  int fd = argc > 1 ? open (name, O_RDONLY) : STDIN_FILENO;

  if (fd == -1) {
    fprintf (stderr, "%s: %s\n", name, strerror (errno));
    return EXIT_FAILURE;
  }

  struct blkhash *h = blkhash_new ();
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int len;
  int err = h ? append_file (h, fd) : errno;

  if (!err)
    err = blkhash_final (h, md, &len);
  blkhash_free (h);
  close (fd);
  if (err) {
    fprintf (stderr, "%s: %s\n", name, strerror (err));
    return EXIT_FAILURE;
  }

  for (unsigned int i = 0; i < len; i++)
    printf ("%02x", md[i]);
  printf ("\n");
  if (fflush (stdout) == EOF || ferror (stdout)) {
    perror ("standard output");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

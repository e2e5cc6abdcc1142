/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the hash of a file that two threads read out of order:
 *
 *     blkhash-leaves FILE
 *
 * Each thread reads every second part, from the end of the file to its start,
 * and hashes it.  Parts need not be aligned to blocks: the leaf table combines
 * the pieces of a block.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <blkhash.h>

#define THREADS 2
#define PART_SIZE 100000

struct reader {
  pthread_t thread;
  struct blkhash_leaves *leaves;
  int fd;
  uint64_t size;                /* of the file */
  uint64_t part;                /* number of the first part to read */
  int err;                      /* set by the thread, read after the join */
};

static void *
read_parts (void *arg)
{
  struct reader *r = arg;
  uint64_t parts = (r->size + PART_SIZE - 1) / PART_SIZE;
  unsigned char buf[PART_SIZE];

  for (uint64_t part = r->part; part < parts; part += THREADS) {
    uint64_t offset = (parts - 1 - part) * PART_SIZE;
    uint64_t end = offset + PART_SIZE < r->size ? offset + PART_SIZE : r->size;

    while (offset < end) {
      ssize_t n = pread (r->fd, buf, end - offset, offset);

      if (n == -1 && errno == EINTR)
        continue;
      r->err = n == -1 ? errno : n == 0 ? EIO : /* 0: truncated */
        blkhash_leaves_data (r->leaves, buf, n, offset);
      if (r->err)
        return NULL;
      offset += n;
    }
  }
  return NULL;
}

static int
read_file (struct blkhash_leaves *leaves, int fd, uint64_t size)
{
  struct reader readers[THREADS];
  int started, err = 0;

  for (started = 0; started < THREADS; started++) {
    struct reader *r = &readers[started];

    *r = (struct reader) { .leaves = leaves, .fd = fd, .size = size,
                           .part = started };
    err = pthread_create (&r->thread, NULL, read_parts, r);
    if (err)
      break;
  }
  while (started-- > 0) {
    pthread_join (readers[started].thread, NULL);
    if (!err)
      err = readers[started].err;
  }
  return err;
}

int
main (int argc, char *argv[])
{
  if (argc != 2) {
    fprintf (stderr, "usage: blkhash-leaves FILE\n");
    return EXIT_FAILURE;
  }

  const char *name = argv[1];
  int fd = open (name, O_RDONLY);
  off_t size = fd == -1 ? -1 : lseek (fd, 0, SEEK_END);

  if (size == -1) {
    fprintf (stderr, "%s: %s\n", name, strerror (errno));
    return EXIT_FAILURE;
  }

  struct blkhash_leaves *leaves =
    blkhash_leaves_new (NULL, size, BLKHASH_LEAVES_ONCE);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int len;
  int err = leaves ? read_file (leaves, fd, size) : errno;

  if (!err)
    err = blkhash_leaves_fold (leaves, md, &len);
  blkhash_leaves_free (leaves);
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

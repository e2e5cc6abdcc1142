/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Brings a file into the page cache or evicts it, so that a benchmark starts in
 * a known state, and prints how much of it was and is cached.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "args.h"

const char program[] = "cache";

static const char usage[] =
"Usage: cache [--drop] FILE...\n"
"Load files into the page cache, or drop them from it.  Prints how many bytes\n"
"of each were and are cached, which the kernel shows if the file is writable.\n"
"\n"
"  -d, --drop                write out what is dirty, and drop\n"
"  -h, --help                print this and exit\n";

#define READ_SIZE (1 << 20)
#define WINDOW (UINT64_C (1) << 30)     /* bytes that are mapped at once */

/* The number of cached bytes in the LEN bytes at OFFSET, a page or more. */
static uint64_t
resident_window (int fd, uint64_t offset, size_t len, const char *file)
{
  const size_t page = sysconf (_SC_PAGESIZE);
  const size_t pages = (len + page - 1) / page;
  unsigned char *map = mmap (NULL, len, PROT_NONE, MAP_SHARED, fd, offset);
  unsigned char *vec = malloc (pages);
  uint64_t count = 0;
  size_t i;

  if (map == MAP_FAILED || !vec || mincore (map, len, vec) == -1)
    check (errno, file);
  for (i = 0; i < pages; i++)
    count += vec[i] & 1;
  free (vec);
  munmap (map, len);
  return count * page;
}

static uint64_t
resident (int fd, uint64_t size, const char *file)
{
  uint64_t offset, sum = 0;

  for (offset = 0; offset < size; offset += WINDOW)
    sum += resident_window (fd, offset,
                            size - offset < WINDOW ? size - offset : WINDOW,
                            file);
  return sum < size ? sum : size;       /* the last page may be partial */
}

static void
load (int fd, const char *file)
{
  char *buf = malloc (READ_SIZE);
  uint64_t offset = 0;
  ssize_t n;

  if (!buf)
    check (errno, file);
  while ((n = pread (fd, buf, READ_SIZE, offset)) > 0)
    offset += n;
  check (n == -1 ? errno : 0, file);
  free (buf);
}

/* Dirty pages cannot be dropped. */
static void
drop (int fd, const char *file)
{
  if (fsync (fd) == -1)
    check (errno, file);
#ifdef HAVE_POSIX_FADVISE
  check (posix_fadvise (fd, 0, 0, POSIX_FADV_DONTNEED), file);
#else
  die (1, "%s: there is no posix_fadvise here", file);
#endif
}

static void
do_file (const char *file, bool dropping)
{
  int fd = open (file, O_RDONLY | O_CLOEXEC);
  off_t size = fd == -1 ? -1 : lseek (fd, 0, SEEK_END);
  uint64_t before;

  if (size == -1)
    check (errno, file);
  before = resident (fd, size, file);
  if (dropping)
    drop (fd, file);
  else
    load (fd, file);
  printf ("%s: %" PRIu64 " bytes, in the cache: %" PRIu64 " before, %" PRIu64
          " after\n", file, (uint64_t) size, before,
          resident (fd, size, file));
  close (fd);
}

int
main (int argc, char *argv[])
{
  static const struct option longs[] = {
    { "drop", no_argument, NULL, 'd' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  bool dropping = false;
  int c, i;

  while ((c = getopt_long (argc, argv, "dh", longs, NULL)) != -1)
    switch (c) {
    case 'd': dropping = true; break;
    case 'h': fputs (usage, stdout); exit (0);
    default: exit (2);
    }
  if (optind == argc)
    die (2, "no file");
  for (i = optind; i < argc; i++)
    do_file (argv[i], dropping);
  if (fflush (stdout) != 0)
    check (errno, "stdout");
  return 0;
}

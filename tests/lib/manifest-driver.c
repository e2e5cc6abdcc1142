/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Writes and reads manifests by the public API, for test-manifest.py, which
 * knows the expected results.
 *
 *   manifest-driver write DIGEST BLOCK-SIZE STREAMS HOW < IMAGE > MANIFEST
 *       STREAMS can be "linear".  HOW: "sink" of a table that gets each byte
 *       once, "end" the same but the size is set at the end, "save" of a table.
 *   manifest-driver part DIGEST BLOCK-SIZE STREAMS FIRST COUNT < IMAGE
 *       prints the manifest of COUNT blocks from FIRST on
 *   manifest-driver read FLAGS < MANIFEST
 *       prints "sum: TAG-PARTS", and lines as refmanifest.py read does
 *   manifest-driver load < MANIFEST > MANIFEST
 *       loads a leaf table, and saves it
 *   manifest-driver diff FLAGS MANIFEST < MANIFEST
 *       prints a line "START LENGTH" for each range that differs, in bytes
 *
 * On failure status 1, and a line with the function and the reason.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash-manifest.h"

static void __attribute__ ((noreturn))
die (const char *what, int err, const char *why)
{
  fprintf (stderr, "%s: %s: %s\n", what, strerror (err), why);
  exit (1);
}

static void
check (const char *what, int err)
{
  if (err)
    die (what, err, "");
}

static void *
must (const char *what, void *p)
{
  if (!p)
    die (what, errno, "");
  return p;
}

static void
print_hex (const unsigned char *bytes, size_t len)
{
  size_t i;

  for (i = 0; i < len; i++)
    printf ("%02x", bytes[i]);
}

/* ---- Writing ---- */

static unsigned char *
read_image (size_t *size)
{
  size_t room = 1 << 16, n;
  unsigned char *image = must ("malloc", malloc (room));

  *size = 0;
  while ((n = fread (image + *size, 1, room - *size, stdin)) > 0) {
    *size += n;
    if (*size == room)
      image = must ("realloc", realloc (image, room *= 2));
  }
  return image;
}

static void
write_manifest (const struct blkhash_opts *opts, const char *how)
{
  int save = strcmp (how, "save") == 0, at_end = strcmp (how, "end") == 0;
  struct blkhash_manifest_writer *w = NULL;
  struct blkhash_leaf_sink sink;
  struct blkhash_leaves *l;
  unsigned char *image;
  uint64_t known_size;
  size_t size;

  image = read_image (&size);
  known_size = at_end ? BLKHASH_SIZE_UNKNOWN : size;
  l = must ("blkhash_leaves_new",
            blkhash_leaves_new (opts, known_size,
                                save ? 0 : BLKHASH_LEAVES_ONCE |
                                           BLKHASH_LEAVES_NO_SUM));
  if (!save) {
    w = must ("blkhash_manifest_writer_new",
              blkhash_manifest_writer_new (opts, known_size, STDOUT_FILENO));
    sink = blkhash_manifest_writer_sink (w);
    check ("blkhash_leaves_set_sink", blkhash_leaves_set_sink (l, &sink));
  }
  check ("blkhash_leaves_data", blkhash_leaves_data (l, image, size, 0));
  if (at_end)
    check ("blkhash_leaves_set_size", blkhash_leaves_set_size (l, size));
  if (save)
    check ("blkhash_leaves_save",
           blkhash_leaves_save (l, STDOUT_FILENO, NULL, NULL));
  else {
    check ("blkhash_leaves_fold", blkhash_leaves_fold (l, NULL, NULL));
    check ("blkhash_manifest_writer_finish",
           blkhash_manifest_writer_finish (w, size, NULL, NULL));
  }
  blkhash_manifest_writer_free (w);
  blkhash_leaves_free (l);
  free (image);
}

/* The table has the other blocks, too. */
static void
write_part (const struct blkhash_opts *opts, uint64_t first, uint64_t count)
{
  struct blkhash_manifest_writer *w;
  struct blkhash_leaf_sink sink;
  struct blkhash_leaves *l;
  size_t size;
  unsigned char *image = read_image (&size);

  l = must ("blkhash_leaves_new",
            blkhash_leaves_new (opts, size, BLKHASH_LEAVES_ONCE |
                                            BLKHASH_LEAVES_NO_SUM));
  w = must ("blkhash_manifest_writer_new_part",
            blkhash_manifest_writer_new_part (opts, size, first, count,
                                              STDOUT_FILENO));
  sink = blkhash_manifest_writer_sink (w);
  check ("blkhash_leaves_set_sink", blkhash_leaves_set_sink (l, &sink));
  check ("blkhash_leaves_data", blkhash_leaves_data (l, image, size, 0));
  check ("blkhash_leaves_fold", blkhash_leaves_fold (l, NULL, NULL));
  check ("blkhash_manifest_writer_finish",
         blkhash_manifest_writer_finish (w, size, NULL, NULL));
  blkhash_manifest_writer_free (w);
  blkhash_leaves_free (l);
  free (image);
}

static struct blkhash_opts *
parse_opts (char *argv[])
{
  struct blkhash_opts *opts = must ("blkhash_opts_new",
                                    blkhash_opts_new (argv[0]));

  check ("block size", blkhash_opts_set_block_size (opts, atoi (argv[1])));
  if (strcmp (argv[2], "linear") == 0)
    check ("linear", blkhash_opts_set_linear (opts, 1));
  else
    check ("streams", blkhash_opts_set_streams (opts, atoi (argv[2])));
  return opts;
}

static void
do_write (char *argv[])
{
  struct blkhash_opts *opts = parse_opts (argv);

  write_manifest (opts, argv[3]);
  blkhash_opts_free (opts);
}

static void
do_part (char *argv[])
{
  struct blkhash_opts *opts = parse_opts (argv);

  write_part (opts, strtoull (argv[3], NULL, 10), strtoull (argv[4], NULL, 10));
  blkhash_opts_free (opts);
}

/* ---- Reading ---- */

static void __attribute__ ((noreturn))
reader_failed (const char *what, struct blkhash_manifest_reader *r, int err)
{
  fprintf (stderr, "%s: %s: %s\n", what, strerror (err),
           blkhash_manifest_reader_error (r));
  blkhash_manifest_reader_free (r);
  exit (1);
}

static struct blkhash_manifest_reader *
start (int fd, unsigned flags)
{
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, flags, reason, sizeof reason);

  if (!r)
    die ("blkhash_manifest_reader_new", errno, reason);
  return r;
}

static void
do_read (unsigned flags)
{
  struct blkhash_manifest_reader *r = start (STDIN_FILENO, flags);
  const struct blkhash_opts *opts = blkhash_manifest_reader_opts (r);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_run run;
  uint64_t first, count, i;
  unsigned len;
  int err;

  blkhash_manifest_reader_blocks (r, &first, &count);
  printf ("%s %" PRIu32 " %u %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
          blkhash_opts_get_digest_name (opts),
          blkhash_opts_get_block_size (opts), blkhash_opts_get_streams (opts),
          blkhash_opts_get_linear (opts), blkhash_manifest_reader_size (r),
          first, count);
  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    if (!run.leaves) {
      printf ("%" PRIu64 " zero %" PRIu64 "\n", run.first, run.count);
      continue;
    }
    printf ("%" PRIu64 " data", run.first);
    for (i = 0; i < run.count; i++) {
      putchar (' ');
      print_hex (run.leaves + i * run.leaf_size, run.leaf_size);
    }
    putchar ('\n');
  }
  if (err != ENOENT)
    reader_failed ("blkhash_manifest_reader_next", r, err);
  if (blkhash_manifest_reader_sum (r, md, &len) == 0) {
    printf ("sum ");
    print_hex (md, len);
    putchar ('\n');
  }
  blkhash_manifest_reader_free (r);
}

static void
do_load (void)
{
  struct blkhash_manifest_reader *r = start (STDIN_FILENO, 0);
  struct blkhash_leaves *l = blkhash_leaves_load (r);

  if (!l)
    reader_failed ("blkhash_leaves_load", r, errno);
  blkhash_manifest_reader_free (r);
  check ("blkhash_leaves_save",
         blkhash_leaves_save (l, STDOUT_FILENO, NULL, NULL));
  blkhash_leaves_free (l);
}

static int
print_range (void *opaque, uint64_t start, uint64_t len)
{
  (void) opaque;
  return printf ("%" PRIu64 " %" PRIu64 "\n", start, len) < 0 ? EIO : 0;
}

static void
do_diff (unsigned flags, const char *name)
{
  int fd = open (name, O_RDONLY), err;
  struct blkhash_manifest_reader *a, *b;

  if (fd == -1)
    die (name, errno, "");
  a = start (STDIN_FILENO, flags);
  b = start (fd, flags);
  err = blkhash_manifest_diff (a, b, print_range, NULL);
  if (err)
    fprintf (stderr, "blkhash_manifest_diff: %s: %s, %s\n", strerror (err),
             blkhash_manifest_reader_error (a),
             blkhash_manifest_reader_error (b));
  blkhash_manifest_reader_free (a);
  blkhash_manifest_reader_free (b);
  close (fd);
  if (err)
    exit (fflush (stdout) == 0 ? 1 : 2);
}

int
main (int argc, char *argv[])
{
  if (argc == 6 && strcmp (argv[1], "write") == 0)
    do_write (argv + 2);
  else if (argc == 7 && strcmp (argv[1], "part") == 0)
    do_part (argv + 2);
  else if (argc == 3 && strcmp (argv[1], "read") == 0)
    do_read (atoi (argv[2]));
  else if (argc == 2 && strcmp (argv[1], "load") == 0)
    do_load ();
  else if (argc == 4 && strcmp (argv[1], "diff") == 0)
    do_diff (atoi (argv[2]), argv[3]);
  else
    return 2;
  return fflush (stdout) == 0 ? 0 : 1;
}

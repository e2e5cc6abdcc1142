/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the reader of manifests, from a file and from a pipe, streaming
 * and into a leaf table.
 *
 * A manifest that is accepted was read to its end, and a table that was loaded
 * is saved as the same bytes, except for unknown keys in the header.  A
 * manifest does not differ from itself, and differs from zeros where it has
 * data.  To get past the CRCs, the input is read a second time with right ones.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../../lib/manifest/manifest-format.h"
#include "../../lib/manifest/manifest-reader.h"
#include "blkhash-manifest.h"
#include "fuzz-main.h"

#define MAX_HASHED (1 << 16)    /* blocks: the sum of more is too slow */

static int
fuzz_fd (const uint8_t *data, size_t size)
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);

  if (fd == -1 || (size > 0 && write (fd, data, size) != (ssize_t) size) ||
      lseek (fd, 0, SEEK_SET) == -1) {
    perror ("memfd");
    exit (1);
  }
  return fd;
}

/* Returns true if it was accepted. */
static bool
read_all (struct blkhash_manifest_reader *r)
{
  struct blkhash_manifest_run run;
  uint64_t first, count, next;
  int err;

  blkhash_manifest_reader_blocks (r, &first, &count);
  for (next = first; (err = blkhash_manifest_reader_next (r, &run)) == 0;
       next += run.count) {
    if (run.first != next || run.count == 0 ||
        run.count > count - (next - first))
      abort ();
    if (run.leaves)             /* null has none, but the record has a tail */
      (void) *(const volatile unsigned char *) run.leaves;
  }
  if (err == ENOENT && next != first + count)
    abort ();
  if (blkhash_manifest_reader_error (r)[0] == '\0')
    abort ();
  return err == ENOENT;
}

static struct blkhash_manifest_reader *
start (int fd)
{
  struct blkhash_manifest_reader *r;

  if (lseek (fd, 0, SEEK_SET) == -1)
    abort ();
  r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
  if (!r)
    abort ();
  return r;
}

/* ---- Comparing ---- */

struct ranges {
  uint64_t end;                 /* of the last range, in bytes */
  uint64_t bytes, size;         /* of all ranges, and of the larger image */
};

static int
add_range (void *opaque, uint64_t start, uint64_t len)
{
  struct ranges *ranges = opaque;

  if (len == 0 || start > ranges->size || len > ranges->size - start ||
      (ranges->end > 0 && start <= ranges->end))
    abort ();
  ranges->end = start + len;
  ranges->bytes += len;
  return 0;
}

/* The number of bytes in which the valid manifests A and B differ. */
static uint64_t
diff (int fd_a, int fd_b)
{
  struct blkhash_manifest_reader *a = start (fd_a), *b = start (fd_b);
  struct ranges ranges = { .size = blkhash_manifest_reader_size (a) };
  bool no_digest =
    strcmp (blkhash_opts_get_digest_name (blkhash_manifest_reader_opts (a)),
            "null") == 0;
  int err;

  if (ranges.size < blkhash_manifest_reader_size (b))
    ranges.size = blkhash_manifest_reader_size (b);
  err = blkhash_manifest_diff (a, b, add_range, &ranges);
  if (no_digest ? err != EINVAL : err != 0)
    abort ();
  blkhash_manifest_reader_free (a);
  blkhash_manifest_reader_free (b);
  return ranges.bytes;
}

/* The manifest of zeros. */
static void
save_zeros (const struct blkhash_opts *opts, uint64_t size, int fd)
{
  struct blkhash_leaves *l = blkhash_leaves_new (opts, size, 0);

  if (!l || blkhash_leaves_zero (l, size, 0) != 0 ||
      blkhash_leaves_save (l, fd, NULL, NULL) != 0)
    abort ();
  blkhash_leaves_free (l);
}

/* L was loaded from the manifest in FD, and is complete. */
static void
compare (struct blkhash_leaves *l, int fd, int again)
{
  struct blkhash_manifest_reader *r = start (fd);
  const struct blkhash_opts *opts = blkhash_manifest_reader_opts (r);
  uint64_t size = blkhash_manifest_reader_size (r), data, zero;
  int zeros = fuzz_fd (NULL, 0), less = fuzz_fd (NULL, 0);
  bool no_digest = strcmp (blkhash_opts_get_digest_name (opts), "null") == 0;

  save_zeros (opts, size, zeros);
  save_zeros (opts, size / 2, less);
  blkhash_leaves_count (l, &data, &zero);
  if (no_digest)
    data = 0;
  if (diff (fd, again) != 0 || diff (fd, zeros) != data ||
      diff (less, fd) != data)
    abort ();
  blkhash_manifest_reader_free (r);
  close (zeros);
  close (less);
}

/* ---- Reading ---- */

static void
load_and_save (const uint8_t *data, size_t size)
{
  uint8_t *again = malloc (size + 1);
  int fd = fuzz_fd (data, size), out = fuzz_fd (NULL, 0);
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, 0, NULL, 0);
  struct blkhash_leaves *l = r ? blkhash_leaves_load (r) : NULL;
  ssize_t n;

  if (l && blkhash_leaves_save (l, out, NULL, NULL) == 0) {
    n = again ? pread (out, again, size + 1, 0) : 0;
    if (again &&
        (n != (ssize_t) size ||
         memcmp (again + 512, data + 512, size - 512 - 8) != 0))
      abort ();
    compare (l, fd, out);
  }
  blkhash_leaves_free (l);
  blkhash_manifest_reader_free (r);
  free (again);
  close (fd);
  close (out);
}

static void
read_input (const uint8_t *data, size_t size)
{
  int fd = fuzz_fd (data, size);
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, BLKHASH_MANIFEST_NO_SUM, reason,
                                 sizeof reason);
  uint64_t first, count;
  bool taken = false;

  if (!r != (*reason != '\0'))
    abort ();
  if (r) {
    blkhash_manifest_reader_blocks (r, &first, &count);
    taken = read_all (r) && count <= MAX_HASHED;
  }
  blkhash_manifest_reader_free (r);
  close (fd);
  if (taken)
    load_and_save (data, size);
}

/* Set the CRCs of all records. */
static void
fix_crcs (uint8_t *data, size_t size, size_t leaf_size)
{
  uint32_t header_crc = crc32c (0, data, MANIFEST_HEADER_SIZE);
  size_t at = MANIFEST_HEADER_SIZE, len;

  while (size - at >= MANIFEST_HEAD_SIZE + MANIFEST_TAIL_SIZE) {
    bool end = manifest_get (data + at, 8) == MANIFEST_END;
    uint64_t count = manifest_get (data + at + 8, 8);

    if (end)                    /* of a part it has no sum */
      count = size - at > MANIFEST_HEAD_SIZE + MANIFEST_TAIL_SIZE;
    else if (count & MANIFEST_ZERO_RUN)
      count = 0;
    if (count > MANIFEST_MAX_LEAVES)
      return;
    len = MANIFEST_HEAD_SIZE + count * leaf_size;
    if (size - at < len + MANIFEST_TAIL_SIZE)
      return;
    manifest_put (data + at + len,
                  crc32c (end ? header_crc : 0, data + at, len), 4);
    at += len + MANIFEST_TAIL_SIZE;
    if (end)
      return;
  }
}

/* The length of its leaves, by its header; false if the header is refused. */
static bool
get_leaf_size (const uint8_t *data, size_t size, size_t *leaf_size)
{
  int fd = fuzz_fd (data, size);
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, BLKHASH_MANIFEST_NO_SUM, NULL, 0);
  bool taken = r != NULL;

  if (r)
    *leaf_size = r->leaf_size;
  blkhash_manifest_reader_free (r);
  close (fd);
  return taken;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  size_t leaf_size;
  uint8_t *copy;

  read_input (data, size);
  if (!get_leaf_size (data, size, &leaf_size))
    return 0;
  copy = malloc (size);
  if (copy) {
    memcpy (copy, data, size);
    fix_crcs (copy, size, leaf_size);
    read_input (copy, size);
  }
  free (copy);
  return 0;
}

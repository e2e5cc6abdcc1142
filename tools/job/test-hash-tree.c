/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the hash tree, which is read as dm-verity reads it, from the root
 * to the leaves; that the number of hashed blocks does not depend on that of
 * the zeros; and errors.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "blkhash.h"
#include "job/hash-tree.h"

#define BLOCK_SIZE HASH_TREE_BLOCK_SIZE
#define MAX_SIZE BLKHASH_MAX_MD_SIZE
#define MAX_COUNT 70000         /* leaves: three levels, with either digest */

static const char *const names[] = { "sha256", "sha512" };
static struct digest *digest;
static size_t size;             /* of DIGEST, bytes */

static void
hash (const void *bytes, size_t len, unsigned char *md)
{
  struct digest_ctx *ctx = digest_ctx_create (digest);

  assert_non_null (ctx);
  assert_int_equal (digest_init (ctx), 0);
  assert_int_equal (digest_update (ctx, bytes, len), 0);
  assert_int_equal (digest_final (ctx, md), 0);
  digest_ctx_free (ctx);
}

/* ---- The file ---- */

static unsigned char *file;     /* hash blocks; NULL: they are only counted */
static uint64_t nr_blocks;      /* that the file must have */
static uint64_t written;        /* blocks */
static unsigned calls;          /* of write_blocks: each has hashed a block */
static unsigned fails_at;       /* this call fails; 0: none */

static int
write_blocks (void *opaque, const unsigned char *block, uint64_t count,
              uint64_t index)
{
  assert_ptr_equal (opaque, &file);
  if (++calls == fails_at)
    return ENOSPC;
  assert_true (count > 0 && index < nr_blocks && count <= nr_blocks - index);
  written += count;
  for (uint64_t i = 0; file && i < count; i++)
    memcpy (file + (index + i) * BLOCK_SIZE, block, BLOCK_SIZE);
  return 0;
}

static struct hash_tree *
create (uint64_t count)
{
  struct hash_tree *tree = hash_tree_create (digest, count, write_blocks,
                                             &file);

  assert_non_null (tree);
  nr_blocks = hash_tree_blocks (tree);
  written = calls = 0;
  return tree;
}

/* ---- Reading, as dm-verity does ---- */

/* Check the LEVEL of COUNT hash blocks at INDEX, whose digests are in ABOVE, a
 * level above or the root.  Below it are BELOW blocks: the rest is padding.
 */
static void
check_level (uint64_t index, uint64_t count, const unsigned char *above,
             uint64_t below)
{
  static const unsigned char zeros[BLOCK_SIZE];
  const unsigned char *level = file + index * BLOCK_SIZE;
  size_t padding = count * BLOCK_SIZE - below * size;
  unsigned char md[MAX_SIZE];

  for (uint64_t i = 0; i < count; i++) {
    hash (level + i * BLOCK_SIZE, BLOCK_SIZE, md);
    assert_memory_equal (md, above + i * size, size);
  }
  assert_true (padding < BLOCK_SIZE);
  assert_memory_equal (level + below * size, zeros, padding);
}

/* Check the tree in the file of COUNT leaves. */
static void
check_file (const unsigned char *root, const unsigned char *leaves,
            uint64_t count)
{
  uint64_t counts[10] = { count }, index = 0;
  const unsigned char *above = root;
  unsigned levels = 0;

  for (; counts[levels] > 1; levels++)
    counts[levels + 1] = DIV_ROUND_UP (counts[levels], BLOCK_SIZE / size);
  for (unsigned i = levels; i > 0; i--) {
    check_level (index, counts[i], above, counts[i - 1]);
    above = file + index * BLOCK_SIZE;
    index += counts[i];
  }
  assert_memory_equal (above, leaves, count * size);
  assert_int_equal (index, nr_blocks);
  assert_int_equal (written, nr_blocks);
}

/* ---- Tests ---- */

/* The first COUNT leaves: some are equal, in runs that begin anywhere. */
static unsigned char *
make_leaves (uint64_t count)
{
  unsigned char *leaves = malloc (MAX_COUNT * MAX_SIZE);
  uint64_t i = 0;

  assert_non_null (leaves);
  while (i < count) {
    uint64_t n = 1 + rand () % (rand () % 8 == 0 ? 30000 : 200);
    bool equal = rand () % 2;

    n = MIN (n, count - i);
    for (uint64_t j = 0; j < n; j++, i++)
      if (equal)
        memset (leaves + i * size, 'z', size);
      else
        hash (&i, sizeof i, leaves + i * size);
  }
  return leaves;
}

static uint64_t
count_equal (const unsigned char *leaves, uint64_t count)
{
  uint64_t n = 1;

  while (n < count && memcmp (leaves, leaves + n * size, size) == 0)
    n++;
  return n;
}

/* Append the leaves in pieces, and those that are equal in either way. */
static void
append (struct hash_tree *tree, const unsigned char *leaves, uint64_t count)
{
  while (count > 0) {
    uint64_t equal = count_equal (leaves, count);
    uint64_t n = 1 + rand () % 500;

    n = MIN (n, count);
    if (equal > 1 || rand () % 4 == 0) {
      n = rand () % 2 ? equal : MIN (equal, n);
      assert_int_equal (hash_tree_append (tree, leaves, n, true), 0);
    }
    else
      assert_int_equal (hash_tree_append (tree, leaves, n, false), 0);
    leaves += n * size;
    count -= n;
  }
}

static void
check_count (uint64_t count)
{
  unsigned char *leaves = make_leaves (count), root[MAX_SIZE];
  struct hash_tree *tree = create (count);

  append (tree, leaves, count);
  assert_int_equal (hash_tree_finish (tree, root), 0);
  check_file (root, leaves, count);
  hash_tree_free (tree);
  free (leaves);
}

static void
test_file (void **state)
{
  static const uint64_t counts[] = {
    1, 2, 63, 64, 65, 127, 128, 129, 4096, 4097, 8192, 8193, 16384, 16385,
    64 * 128, 65536, MAX_COUNT
  };

  (void) state;
  file = malloc (MAX_COUNT / 32 * BLOCK_SIZE);
  assert_non_null (file);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    check_count (counts[i]);
  for (int i = 0; i < 30; i++)
    check_count (1 + rand () % 20000);
  free (file);
  file = NULL;
}

/* Roots of blocks of zeros, as tests/refverity.py computes them; veritysetup
 * has confirmed those of 300 blocks.
 */
static const struct {
  const char *name;
  uint64_t count;
  const char *root;
} zeros[] = {
  { "sha256", 2,
    "90b10db56173e2e7c847f6ff3ed85a3aebb140bc0064ec9a156ae5b2e71db988" },
  { "sha256", 300,
    "16811c65b243f66777a93495e5a169b35f84065eb41feda33f18b2f71325c80c" },
  { "sha256", 1ULL << 26,
    "dca8c41d81b7ec857db61f199871812bbf4370d2fa526a61643c9fad70c80a8c" },
  { "sha256", 1ULL << 52,
    "832b78c3c46d11d80cdf150f3ee0d7000c7241ed9638b1130d0efb31ddf986ef" },
  { "sha512", 300,
    "2d04f9e3caa90c2ab0a09a5e648bfb4a40521458af4b0e2a4ed029a89e2d303a"
    "d9838040322b14c3393c4e5cb5fbb2c65da13c9e56a9305f37760aba23594d00" },
  { "sha512", 1ULL << 52,
    "3411058ceceb899aea302dbcc9f93ba5c003351bc03cf253e47acd90f2c67bf5"
    "38b8cc23449d1b41a04e571d6545cecba07add1e5bbc71aab301f1bd7ecf7a52" },
};

/* Equal blocks are hashed once: a level has at most those before a run, those
 * of the run, and the last one.
 */
static void
test_zeros (void **state)
{
  unsigned char block[BLOCK_SIZE] = { 0 }, leaf[MAX_SIZE], root[MAX_SIZE];
  char hex[SUM_HEX_SIZE];

  (void) state;
  for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
    if (strcmp (zeros[i].name, digest_name (digest)) != 0)
      continue;
    hash (block, BLOCK_SIZE, leaf);
    for (uint64_t first = 0; first < 3; first++) {
      struct hash_tree *tree = create (zeros[i].count);
      uint64_t n = first * zeros[i].count / 5;

      assert_int_equal (hash_tree_append (tree, leaf, n, true), 0);
      assert_int_equal (hash_tree_append (tree, leaf, zeros[i].count - n,
                                          true), 0);
      assert_int_equal (hash_tree_finish (tree, root), 0);
      sum_line_hex (root, size, hex);
      assert_string_equal (hex, zeros[i].root);
      assert_int_equal (written, nr_blocks);
      assert_true (calls <= 5 * 9);
      hash_tree_free (tree);
    }
  }
}

/* Without leaves the root is zero; that of one leaf is the leaf. */
static void
test_no_tree (void **state)
{
  unsigned char leaf[MAX_SIZE], root[MAX_SIZE], none[MAX_SIZE] = { 0 };
  struct hash_tree *tree;

  (void) state;
  memset (leaf, 'l', sizeof leaf);
  for (unsigned i = 0; i < 3; i++) {
    tree = create (i > 0);
    assert_int_equal (hash_tree_blocks (tree), 0);
    memset (root, 'r', sizeof root);
    assert_int_equal (hash_tree_append (tree, leaf, i == 1, false), 0);
    assert_int_equal (hash_tree_append (tree, leaf, i == 2, true), 0);
    assert_int_equal (hash_tree_finish (tree, root), 0);
    assert_memory_equal (root, i > 0 ? leaf : none, size);
    assert_int_equal (calls, 0);
    hash_tree_free (tree);
  }
}

/* The error of a write is returned by one of the functions. */
static void
test_error (void **state)
{
  const uint64_t count = 3 * (BLOCK_SIZE / size) + 1;
  unsigned char *leaves = make_leaves (count), root[MAX_SIZE];

  (void) state;
  for (fails_at = 1; fails_at <= 5; fails_at++) {
    struct hash_tree *tree = create (count);
    int err = hash_tree_append (tree, leaves, count - 1, false);

    if (err == 0)
      err = hash_tree_append (tree, leaves, 1, true);
    if (err == 0)
      err = hash_tree_finish (tree, root);
    assert_int_equal (err, ENOSPC);
    hash_tree_free (tree);
  }
  fails_at = 0;
  free (leaves);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_file),
    cmocka_unit_test (test_zeros),
    cmocka_unit_test (test_no_tree),
    cmocka_unit_test (test_error),
  };
  int r = 0;

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    digest = digest_create (names[i]);
    if (!digest)
      return 1;
    size = digest_size (digest);
    r |= cmocka_run_group_tests (tests, NULL, NULL);
    digest_free (digest);
  }
  return r;
}

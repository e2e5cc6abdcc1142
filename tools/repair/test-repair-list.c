/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: block_check finds the blocks that do not match a manifest.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "../lib/manifest/manifest-index.h"
#include "blkhash-manifest.h"
#include "repair/repair-private.h"

#define BLOCK 512               /* bytes */
#define BLOCKS 3000
#define ROUNDS 20

static unsigned seed = 1;

static unsigned
rnd (unsigned below)
{
  return rand_r (&seed) % below;
}

/* An image, its manifest, and what block_check expects. */
struct image {
  struct blkhash_opts *opts;
  size_t size, count;
  unsigned char bytes[BLOCKS * BLOCK];
  FILE *file;
  struct manifest_index *index;
  unsigned char leaves[BLOCKS][BLKHASH_MAX_MD_SIZE];
  struct block_expected expected[BLOCKS];
};

static void
make_bytes (struct image *image)
{
  size_t i;

  image->size = 1 + rnd (sizeof image->bytes);
  image->count = DIV_ROUND_UP (image->size, BLOCK);
  memset (image->bytes, 0, sizeof image->bytes);
  for (i = 0; i < image->count; i++)
    if (rnd (3))
      memset (image->bytes + i * BLOCK, rnd (256),
              MIN (BLOCK, image->size - i * BLOCK));
}

static void
make_manifest (struct image *image)
{
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (image->opts, image->size, 0);
  char reason[BLKHASH_MAX_REASON_SIZE];

  image->file = tmpfile ();
  assert_non_null (image->file);
  assert_int_equal (blkhash_leaves_data (leaves, image->bytes, image->size, 0),
                    0);
  assert_int_equal (blkhash_leaves_save (leaves, fileno (image->file), NULL,
                                         NULL), 0);
  blkhash_leaves_free (leaves);
  rewind (image->file);
  image->index = manifest_index_new (fileno (image->file), reason,
                                     sizeof reason);
  assert_non_null (image->index);
  assert_int_equal (manifest_index_load (image->index, NULL, NULL, reason,
                                         sizeof reason), 0);
}

/* Set image->expected from the manifest. */
static void
read_leaves (struct image *image)
{
  struct blkhash_manifest_run run;
  uint64_t i;

  for (i = 0; i < image->count; i++) {
    assert_int_equal (manifest_index_get (image->index, i, 1, image->leaves[i],
                                          &run), 0);
    image->expected[i] = (struct block_expected) {
      .zero = !run.leaves, .leaf = image->leaves[i]
    };
  }
}

static void
make_image (struct image *image)
{
  make_bytes (image);
  make_manifest (image);
  read_leaves (image);
}

static void
free_image (struct image *image)
{
  manifest_index_free (image->index);
  fclose (image->file);
}

/* Check block I of IMAGE, in a buffer of its length. */
static bool
is_good (const struct image *image, size_t i)
{
  size_t len = MIN (BLOCK, image->size - i * BLOCK);
  unsigned char *block = test_malloc (len);
  bool good;

  memcpy (block, image->bytes + i * BLOCK, len);
  assert_int_equal (block_check (image->opts, block, len, &image->expected[i],
                                 &good), 0);
  test_free (block);
  return good;
}

/* If random blocks are changed, exactly these are not good. */
static void
test_check (void **state)
{
  static struct image image;
  bool changed[BLOCKS];
  size_t i, n;

  (void) state;
  image.opts = blkhash_opts_new ("sha256");
  assert_int_equal (blkhash_opts_set_block_size (image.opts, BLOCK), 0);
  for (n = 0; n < ROUNDS; n++) {
    make_image (&image);
    for (i = 0; i < image.count; i++) {
      changed[i] = rnd (4) == 0;
      if (changed[i])
        image.bytes[i * BLOCK + rnd (MIN (BLOCK, image.size - i * BLOCK))] ^=
          1 + rnd (255);
    }
    for (i = 0; i < image.count; i++)
      assert_int_equal (is_good (&image, i), !changed[i]);
    free_image (&image);
  }
  blkhash_opts_free (image.opts);
}

/* Data is not good where zeros are expected, and zeros are not good where data
 * is expected.
 */
static void
test_zeros (void **state)
{
  static struct image image;
  size_t i;

  (void) state;
  image.opts = blkhash_opts_new ("sha256");
  assert_int_equal (blkhash_opts_set_block_size (image.opts, BLOCK), 0);
  make_image (&image);
  for (i = 0; i < image.count; i++)
    image.expected[i].zero = !image.expected[i].zero;
  for (i = 0; i < image.count; i++)
    assert_false (is_good (&image, i));
  free_image (&image);
  blkhash_opts_free (image.opts);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_check),
    cmocka_unit_test (test_zeros),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

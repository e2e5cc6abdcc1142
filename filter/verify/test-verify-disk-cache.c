/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the cache that all disks of the verify filter share.
 *
 * Disks with small and large blocks are added and removed, and their blocks are
 * read, at random.  Each block begins and ends with 16 bytes that have the
 * serial number of its disk and the number of the block.  The test prints its
 * seed, which BLKHASH_SEED can set.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "verify/verify-disk.h"

#define MiB 1048576
#define DISKS 70
#define MAX_BLOCK (16 * MiB)
#define READS 20000

static unsigned seed;
static unsigned char *content;

struct fake_disk {
  struct block_cache cache;
  unsigned serial;              /* among all disks ever added; 0: no disk */
};

static struct fake_disk disks[DISKS];
static unsigned next_serial = 1;

static uint64_t
any (uint64_t limit)            /* less than LIMIT */
{
  return rand_r (&seed) % limit;
}

static void
add_disk (struct fake_disk *disk, size_t block_size)
{
  disk->serial = next_serial++;
  block_cache_init (&disk->cache, block_size);
}

static void
remove_disk (struct fake_disk *disk)
{
  block_cache_destroy (&disk->cache);
  disk->serial = 0;
}

/* Read 16 bytes at the start or at the end of a block, and check them.  Returns
 * false if the block was not in the cache; then it is added if KEEP is set.
 */
static bool
read_block (struct fake_disk *disk, uint64_t block, bool keep)
{
  size_t size = disk->cache.block_size, skip = any (2) ? 0 : size - 16;
  uint64_t expected[2] = { disk->serial, block }, found[2];
  struct block_load load;

  if (block_cache_begin (&disk->cache, block, found, sizeof found, skip,
                         &load)) {
    assert_memory_equal (found, expected, sizeof found);
    return true;
  }
  memcpy (content, expected, sizeof expected);
  memcpy (content + size - 16, expected, sizeof expected);
  block_cache_end (&disk->cache, &load, keep ? content : NULL, size);
  return false;
}

/* Check the size of the cache, and that each used entry belongs to one disk. */
static void
check_memory (void)
{
  size_t size = 0, i, j;

  for (i = 0; i < BLOCK_CACHE_ENTRIES; i++) {
    const struct lru_entry *entry = &cached_blocks.entries[i];
    uint64_t id = entry->number >> BLOCK_CACHE_BLOCK_BITS;
    unsigned owners = 0;

    size += cached_blocks.sizes[i];
    assert_int_equal (entry->bytes != NULL, entry->used > 0);
    for (j = 0; j < DISKS; j++)
      owners += disks[j].serial && disks[j].cache.id == id &&
        disks[j].cache.block_size == cached_blocks.sizes[i];
    assert_int_equal (owners, entry->used > 0);
  }
  assert_int_equal (size, cached_blocks.size);
  assert_in_range (size, 0, BLOCK_CACHE_SIZE);
}

static void
remove_all (void)
{
  unsigned i;

  for (i = 0; i < DISKS; i++)
    if (disks[i].serial)
      remove_disk (&disks[i]);
  check_memory ();
  assert_int_equal (cached_blocks.size, 0);
  assert_null (cached_blocks.disks);
}

/* ---- Tests ---- */

static void
test_random (void **state)
{
  unsigned i, hits = 0;

  (void) state;
  for (i = 0; i < READS; i++) {
    struct fake_disk *disk = &disks[any (DISKS)];

    if (!disk->serial)
      add_disk (disk, 16 << any (any (200) ? 13 : 21));
    else if (any (300) == 0)
      remove_disk (disk);
    else
      hits += read_block (disk, any (20), any (10));
    if (any (100) == 0)
      check_memory ();
  }
  printf ("%u reads in %u steps found their block in the cache\n", hits, i);
  remove_all ();
}

/* Read blocks 0 to COUNT - 1.  Returns how many of the blocks that were read
 * last are then in the cache.
 */
static unsigned
kept (struct fake_disk *disk, unsigned count)
{
  unsigned found = 0, i;

  for (i = 0; i < count; i++)
    read_block (disk, i, true);
  while (found < count && read_block (disk, --i, false))
    found++;
  return found;
}

static void
test_size (void **state)
{
  static const struct {
    size_t block_size;
    unsigned blocks;
  } cases[] = {
    { 4096, 512 }, { 65536, 512 }, { 131072, 512 }, { 262144, 256 },
    { MiB, 64 }, { 16 * MiB, 4 },
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    add_disk (&disks[0], cases[i].block_size);
    assert_int_equal (kept (&disks[0], 600), cases[i].blocks);
    check_memory ();
    remove_disk (&disks[0]);
  }
  remove_all ();
}

/* Many disks with the largest blocks need no more memory than one disk: only
 * the blocks of the last four disks remain in the cache.
 */
static void
test_shared (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < DISKS; i++) {
    add_disk (&disks[i], MAX_BLOCK);
    assert_false (read_block (&disks[i], 0, true));
    assert_true (read_block (&disks[i], 0, true));
    check_memory ();
  }
  for (i = DISKS; i-- > DISKS - 4; )
    assert_true (read_block (&disks[i], 0, true));
  assert_false (read_block (&disks[i], 0, true));
  remove_all ();
}

static int
set_up (void **state)
{
  (void) state;
  content = calloc (1, MAX_BLOCK);
  return content ? 0 : -1;
}

static int
tear_down (void **state)
{
  (void) state;
  free (content);
  return 0;
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_SEED");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_size),
    cmocka_unit_test (test_shared),
  };

  seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);
  printf ("BLKHASH_SEED=%u\n", seed);
  return cmocka_run_group_tests (tests, set_up, tear_down);
}

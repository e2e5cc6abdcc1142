/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: extents that report zeros where the disk has data.  A published
 * leaf has no zeros of extents where a client has read, or written, other
 * bytes.  Extents that are right lose no sum.
 *
 * Each case is a process with a server.  The random cases compare the leaves of
 * all sums with a model.  The model knows where the extents lie, but not in
 * which order the filter learns that: every byte that extents report wrongly,
 * and that no client has read or written, may be zero in a leaf, or the byte of
 * the disk.  BLKHASH_ROUNDS is the number of random cases, and BLKHASH_SEED the
 * seed of the first one.  A case that fails prints its own seed.
 */

#include <config.h>

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include <nbdkit-filter.h>

#include "../lib/leaves/leaves.h"
#include "blkhash-leaves.h"
#include "blkhash/export.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-result.h"

#define BLOCK 2048
#define BLOCKS 20
#define SIZE (BLOCK * BLOCKS - 700)
#define HALF (BLOCK / 2)
#define WRONG "zeros were reported at offset "

/* ---- Cases ---- */

static bool lies[2 * 4100];     /* of each 512 bytes, of the largest disk */

static bool
on_extents (uint64_t offset)
{
  return lies[offset / 512];
}

static void
lie (uint64_t offset, uint64_t len)
{
  for (; len > 0; offset += 512, len -= 512)
    lies[offset / 512] = true;
}

/* All of the disk has data, unless the case changes that. */
static void
start_with (const char *missing, uint64_t size, uint32_t block_size,
            bool with_manifest)
{
  server_configure ("blkhash-missing", missing);
  assert (result_start (size, block_size, with_manifest) == 0);
  memset (disk, 'd', size);
  if (size == SIZE)
    disk_lies = on_extents;
}

static void
start (const char *missing)
{
  start_with (missing, SIZE, BLOCK, true);
}

/* Check that the claim at OFFSET is reported as wrong for the export NAME, and
 * that no export has a sum.
 */
static void
assert_wrong (const char *name, unsigned offset)
{
  char line[128];

  sprintf (line, "# unknown %s: " WRONG "%u, but other data was read\n",
           name, offset);
  assert (result_has (line));
  assert (result_sums () == 0);
}

static void
claim_then_read (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, BLOCK);
  client_extents (client, SIZE, 0);
  client_read (client, 3 * BLOCK, 0);
  assert_wrong ("x", BLOCK);
  client_disconnect (client);
  assert_wrong ("x", BLOCK);
}

static void
read_then_claim (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, BLOCK);
  client_read (client, 3 * BLOCK, 0);
  client_extents (client, SIZE, 0);
  assert_wrong ("x", BLOCK);
  client_disconnect (client);
}

/* The filter queries the extents itself when the client disconnects. */
static void
read_then_query (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, BLOCK);
  client_read (client, 1, BLOCK + 7);
  client_disconnect (client);
  assert_wrong ("x", BLOCK + 7);
}

/* Half of a block is claimed, the other half is read; the block is complete.
 * Then the first half is read.
 */
static void
half_each (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, HALF);
  client_extents (client, HALF, BLOCK);
  client_read (client, HALF, BLOCK + HALF);
  assert (!result_has (WRONG));
  client_read (client, HALF, BLOCK);
  assert_wrong ("x", BLOCK);
  client_disconnect (client);
}

/* The same, but then all of the block is read at once, or a part at an odd
 * offset.
 */
static void
half_then_all (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, HALF);
  disk[BLOCK] = 0;
  client_extents (client, HALF, BLOCK);
  client_read (client, HALF, BLOCK + HALF);
  client_read (client, SIZE, 0);
  assert_wrong ("x", BLOCK + 1);
  client_disconnect (client);
}

static void
half_then_odd (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, HALF);
  client_extents (client, 3, BLOCK + 5);
  client_read (client, HALF, BLOCK + HALF);
  client_read (client, 5, BLOCK);
  client_read (client, HALF - 8, BLOCK + 8);
  assert (!result_has (WRONG));
  client_read (client, 1, BLOCK + 7);
  assert_wrong ("x", BLOCK + 7);
  client_disconnect (client);
}

/* A claim of a part of a complete block is ignored. */
static void
part_of_complete (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, HALF);
  client_read (client, SIZE, 0);
  client_extents (client, HALF, BLOCK);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* The pieces that were read are evicted when the client disconnects. */
static void
evicted (void)
{
  struct client *client = client_open ("x");

  client_read (client, HALF, BLOCK);
  client_disconnect (client);
  lie (BLOCK, HALF);
  client = client_open ("x");
  client_extents (client, HALF, BLOCK);
  client_read (client, HALF, BLOCK + HALF);
  assert_wrong ("x", BLOCK);
  client_disconnect (client);
}

/* The same, with a claim of a part that ends in the data. */
static void
evicted_overlap (void)
{
  struct client *client = client_open ("x");

  memset (disk + BLOCK, 0, 256);
  client_read (client, HALF, BLOCK);
  client_disconnect (client);
  lie (BLOCK, 512);
  client = client_open ("x");
  client_extents (client, 300, BLOCK);
  assert_wrong ("x", BLOCK + 256);
  client_disconnect (client);
}

/* A short claim within data, whose ends are not zero, may be right. */
static void
short_claim (void)
{
  struct client *client = client_open ("x");

  memset (disk + BLOCK + 512 + 1, 0, 1022);
  client_read (client, BLOCK - 100, BLOCK);
  client_extents (client, 1000, BLOCK + 512 + 1);
  client_extents (client, 512, BLOCK + 1024);
  assert (!result_has (WRONG));
  client_read (client, SIZE, 0);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* Data was read and evicted.  A short claim within it is ignored. */
static void
evicted_short (void)
{
  struct client *client = client_open ("x");

  client_read (client, 1500, BLOCK);
  client_disconnect (client);
  lie (BLOCK, BLOCK);
  client = client_open ("x");
  client_extents (client, 300, BLOCK + 600);
  client_read (client, BLOCK + 600, 0);
  client_read (client, SIZE - BLOCK - 900, BLOCK + 900);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* A long claim within data, and claims at its ends, are not right. */
static void
long_claim (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, BLOCK);
  client_read (client, BLOCK - 100, BLOCK);
  client_extents (client, 1024, BLOCK + 512);
  assert_wrong ("x", BLOCK + 512);
  client_disconnect (client);
}

static void
claim_at_end (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, BLOCK);
  client_read (client, HALF, BLOCK);
  client_extents (client, 1, BLOCK + HALF - 1);
  assert_wrong ("x", BLOCK + HALF - 1);
  client_disconnect (client);
}

static void
claim_at_start (void)
{
  struct client *client = client_open ("x");

  lie (BLOCK, BLOCK);
  client_read (client, HALF, BLOCK);
  client_extents (client, 1, BLOCK);
  assert_wrong ("x", BLOCK);
  client_disconnect (client);
}

/* Other names of the same disk. */
static void
alias_reads (void)
{
  struct client *a = client_open ("a"), *b = client_open ("b");

  memset (disk, 0, SIZE);
  memset (disk + BLOCK, 'd', BLOCK);
  lie (BLOCK, BLOCK);
  client_read (a, BLOCK, BLOCK);
  client_extents (b, SIZE, 0);
  client_disconnect (b);
  client_disconnect (a);
  assert_wrong ("b", BLOCK);
}

static void
alias_claims (void)
{
  struct client *a = client_open ("a"), *b = client_open ("b");

  memset (disk, 0, SIZE);
  disk[BLOCK + 17] = 'd';
  lie (BLOCK, BLOCK);
  client_extents (b, SIZE, 0);
  client_disconnect (b);
  assert (result_has (" (b) = "));
  client_read (a, SIZE, 0);
  assert_wrong ("a", BLOCK + 17);
  assert_wrong ("b", BLOCK + 17);
  client_read (a, SIZE, 0);
  client_disconnect (a);
  assert (result_has_sum ("a"));
  assert (!result_has (" (b) = "));
}

/* The last block is short, and its claim is whole. */
static void
last_block (void)
{
  struct client *client = client_open ("x");

  lie ((BLOCKS - 1) * BLOCK, BLOCK);
  client_extents (client, SIZE, 0);
  client_read (client, 1, SIZE - 1);
  assert_wrong ("x", SIZE - 1);
  client_disconnect (client);
}

/* All of the disk is read without claims: there is a sum again. */
static void
sum_again (void)
{
  struct client *client = client_open ("x");

  lie (0, SIZE + 700);
  client_extents (client, SIZE, 0);
  client_read (client, BLOCK, 0);
  assert_wrong ("x", 0);
  client_extents (client, SIZE, 0);
  client_disconnect (client);
  assert_wrong ("x", 0);

  client = client_open ("x");
  client_read (client, SIZE - BLOCK, BLOCK);
  client_extents (client, SIZE, 0);
  assert_wrong ("x", 0);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* A client that wrote: the filter reads the rest, and does not use the
 * claims.
 */
static void
written (void)
{
  struct client *client = client_open ("x");

  lie (0, SIZE + 700);
  client_write (client, 'w', 100, 5 * BLOCK, 0);
  client_read (client, 100, 7 * BLOCK);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* After the end of the server there is a reason for each name. */
static void
at_end (void)
{
  struct client *a = client_open ("a"), *b = client_open ("b");

  lie (0, SIZE + 700);
  client_read (a, 1, 0);
  client_extents (b, SIZE, 0);
  client_vanish (a);
  client_vanish (b);
  server_end ();
  assert_wrong ("a", 0);
  assert_wrong ("b", 0);
}

/* A block is read, and zeroed in part: a claim of all of it is ignored. */
static void
zeroed_in_part (void)
{
  struct client *client = client_open ("x");

  lie (0, 3 * BLOCK);
  client_read (client, BLOCK, 0);
  client_read (client, BLOCK - 1, BLOCK);
  client_read (client, BLOCK - 1, 2 * BLOCK);
  client_zero (client, HALF, 0, 0);
  client_zero (client, HALF, BLOCK, 0);
  client_zero (client, HALF, 2 * BLOCK + HALF, 0);
  client_extents (client, SIZE, 0);
  assert (!result_has (WRONG));
  client_disconnect (client);
  memset (lies, 0, sizeof lies);
  client = client_open ("x");
  client_read (client, SIZE, 0);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* Half of a block is claimed, and the other half written.  Then the first half
 * is read.
 */
static void
claimed_and_written (void)
{
  struct client *client = client_open ("x");

  lie (0, SIZE + 700);
  client_extents (client, SIZE, 0);
  client_write (client, 'w', HALF, HALF, 0);
  client_write (client, 'w', HALF, BLOCK, 0);
  client_write (client, 'w', 512, 2 * BLOCK + 512, 0);
  client_read (client, 512, HALF);
  client_read (client, 512, BLOCK);
  client_read (client, 512, 2 * BLOCK + 512);
  assert (!result_has (WRONG));
  client_read (client, 1, 2 * BLOCK + 1024);
  assert_wrong ("x", 2 * BLOCK + 1024);
  client_disconnect (client);
}

static void
claimed_before_written (void)
{
  struct client *client = client_open ("x");

  lie (0, SIZE + 700);
  client_extents (client, SIZE, 0);
  client_write (client, 'w', HALF, BLOCK + HALF, 0);
  client_read (client, 1, BLOCK + HALF - 1);
  assert_wrong ("x", BLOCK + HALF - 1);
  client_disconnect (client);
}

/* So many changes that there is no room for the rests of the claim: the block
 * is read.
 */
static void
many_rests (void)
{
  struct client *client = client_open ("x");
  unsigned i;

  disk_lies = on_extents;
  lie (0, 65536);
  client_extents (client, 65536, 0);
  for (i = 0; i < PARTS_OF_BLOCK + 100; i++)
    client_write (client, 'w', 1, 16 + 32 * i, 0);
  client_disconnect (client);
  client = client_open ("x");
  client_read (client, 1, 60000);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* So many parts with data that the filter remembers only their blocks.  Number
 * 4096 is the first one for which there is no room.
 */
static void
read_parts (struct client *client)
{
  unsigned i;

  disk_lies = on_extents;
  for (i = 0; i < 4097; i++)
    client_read (client, 256, i * 1024);
}

static void
many_parts (void)
{
  struct client *client = client_open ("x");

  read_parts (client);
  lie (0, 1024);
  client_extents (client, 256, 256);
  client_extents (client, 256, 0);
  assert (!result_has (WRONG));
  client_extents (client, 1024, 0);
  assert_wrong ("x", 0);
  client_disconnect (client);
}

static void
last_of_many_parts (void)
{
  struct client *client = client_open ("x");

  read_parts (client);
  lie (4096 * 1024, 1024);
  client_extents (client, 1024, 4096 * 1024);
  assert_wrong ("x", 4096 * 1024);
  client_disconnect (client);
}

/* A read with more ranges of data than usual. */
static void
many_runs (void)
{
  struct client *client = client_open ("x");
  unsigned i;

  for (i = 0; i < BLOCKS; i += 2)
    memset (disk + i * BLOCK, 0, BLOCK);
  client_read (client, SIZE, 0);
  lie (11 * BLOCK, BLOCK);
  client_extents (client, SIZE, 0);
  assert_wrong ("x", 11 * BLOCK);
  client_disconnect (client);
}

/* ---- Extents that are right ---- */

/* Half of each block is zero; in the last one, all but its first half. */
static void
make_halves (void)
{
  unsigned i;

  for (i = 0; i < BLOCKS; i++)
    memset (disk + i * BLOCK + (i / 2 % 2) * HALF, 0,
            i < BLOCKS - 1 ? HALF : HALF - 700);
}

static void
copy (const char *name, bool claims_first)
{
  struct client *client = client_open (name);
  unsigned i;

  if (claims_first)
    client_extents (client, SIZE, 0);
  for (i = 0; i < BLOCKS; i++)
    client_read (client, HALF, i * BLOCK + (1 - i / 2 % 2) * HALF);
  if (!claims_first)
    client_extents (client, SIZE, 0);
  client_disconnect (client);
  assert (result_has_sum (name));
}

/* With blkhash-missing=fail each byte must be known by a read or a claim. */
static void
right_halves (void)
{
  make_halves ();
  copy ("a", true);
  copy ("b", false);
  copy ("a", false);
  copy ("c", true);
  assert (result_sums () == 3);
}

/* Claims that end at any byte. */
static void
right_bytes (void)
{
  struct client *client = client_open ("x");
  uint64_t offset;

  memset (disk, 0, SIZE);
  for (offset = 0; offset < SIZE; offset += 333)
    client_extents (client, SIZE - offset < 333 ? SIZE - offset : 333, offset);
  client_disconnect (client);
  assert (result_has_sum ("x"));
}

/* Data that was read, and then zeroed, is claimed to be zero. */
static void
right_after_zero (void)
{
  struct client *client = client_open ("a");

  client_read (client, SIZE, 0);
  client_read (client, 100, 3 * BLOCK);
  client_zero (client, SIZE, 0, 0);
  client_flush (client);
  client_disconnect (client);
  client = client_open ("b");
  client_extents (client, SIZE, 0);
  client_disconnect (client);
  assert (result_sums () == 2);
}

/* A part that was read is zeroed, and the rest of its block is claimed. */
static void
right_after_part (void)
{
  struct client *client = client_open ("a");

  memset (disk, 0, SIZE);
  memset (disk + BLOCK + 10, 'd', 100);
  client_read (client, 512, BLOCK);
  client_zero (client, 512, BLOCK, 0);
  client_extents (client, SIZE, 0);
  client_disconnect (client);
  assert (result_has_sum ("a"));
}

/* Zeroed are all bytes with data, but only parts of the blocks that were read.
 * Their claims are ignored.
 */
static void
right_after_edges (void)
{
  struct client *client = client_open ("a");

  memset (disk, 0, SIZE);
  memset (disk + BLOCK + HALF, 'd', 2 * BLOCK);
  client_read (client, 3 * BLOCK, BLOCK);
  client_zero (client, 2 * BLOCK, BLOCK + HALF, 0);
  client_extents (client, SIZE, 0);
  assert (!result_has (WRONG));
  client_read (client, SIZE, 0);
  client_disconnect (client);
  assert (result_has_sum ("a"));
}

/* The disk has another size, and other content. */
static void
right_after_resize (void)
{
  struct client *client = client_open ("a");

  client_read (client, SIZE, 0);
  client_disconnect (client);
  memset (disk, 0, SIZE);
  disk_resize (SIZE - BLOCK);
  client = client_open ("a");
  client_extents (client, SIZE - BLOCK, 0);
  client_disconnect (client);
  assert (result_has (" (a) = "));
}

/* Names with different sizes are different disks, even without
 * blkhash-distinct-exports.
 */
static void
right_with_sizes (void)
{
  struct client *client = client_open ("a");

  client_read (client, SIZE, 0);
  client_disconnect (client);
  memset (disk, 0, SIZE);
  disk_resize (SIZE - BLOCK);
  client = client_open ("b");
  client_extents (client, SIZE - BLOCK, 0);
  client_disconnect (client);
  assert (result_has (" (b) = "));
}

/* Blocks that a client wrote: their claims prove nothing, and are not wrong. */
static void
right_after_write (void)
{
  struct client *client = client_open ("a");

  client_read (client, SIZE, 0);
  client_write (client, 0, SIZE, 0, 0);
  client_extents (client, SIZE, 0);
  client_write (client, 'w', BLOCK, 0, 0);
  lie (0, BLOCK);
  client_extents (client, SIZE, 0);
  client_disconnect (client);
  assert (result_has_sum ("a"));
}

/* A change has reached the plugin, but is still in flight.  Claims and reads of
 * the new content are no contradiction to reads and claims of the old one.
 */
static struct client *other;

static void
on_written (void)
{
  disk_on_written = NULL;
  client_extents (other, SIZE, 0);
  client_read (other, SIZE, 0);
  client_read (other, 100, BLOCK);
}

static void
right_in_flight (void)
{
  struct client *client = client_open ("a");

  memset (disk, 0, SIZE);
  memset (disk + 4 * BLOCK, 'd', 4 * BLOCK);
  other = client_open ("b");
  client_extents (client, SIZE, 0);
  client_read (client, 100, 6 * BLOCK);
  disk_on_written = on_written;
  client_write (client, 0, 4 * BLOCK, 4 * BLOCK, 0);
  assert (!result_has (WRONG));
  client_flush (client);
  disk_on_written = on_written;
  client_write (client, 'w', 4 * BLOCK, 8 * BLOCK, 0);
  assert (!result_has (WRONG));
  client_disconnect (other);
  client_disconnect (client);
  assert (result_has_sum ("a"));
}

static void
on_written_neighbor (void)
{
  disk_on_written = NULL;
  client_read (other, 2 * BLOCK, BLOCK);
}

/* Block 1 is being written while it and block 2 are read under another name. */
static void
neighbor_in_flight (void)
{
  struct client *client = client_open ("a");

  other = client_open ("b");
  lie (2 * BLOCK, HALF);
  client_extents (client, HALF, 2 * BLOCK);
  client_read (client, 2 * BLOCK, 0);
  client_read (client, SIZE - 2 * BLOCK - HALF, 2 * BLOCK + HALF);
  disk_on_written = on_written_neighbor;
  client_write (client, 'd', BLOCK, BLOCK, 0);
  client_read (client, BLOCK, BLOCK);
  client_disconnect (other);
  client_disconnect (client);
  assert (result_sums () == 0 || result_has_sum ("a"));
}

/* Changes that a failed flush may have lost: the old content is no lie. */
static void
right_after_lost (void)
{
  unsigned first = 0, seed;
  struct client *client;

  disk_mode.views = VIEWS_BACK;
  client = client_open ("a");
  client_zero (client, SIZE, 0, 0);
  client_extents (client, SIZE, 0);
  disk_mode.flush = FLUSH_FAILS;
  /* Find a seed with which the flush fails, and its changes are lost: these are
   * the second and the third random number.
   */
  do {
    seed = ++first;
    rand_r (&seed);
  } while (rand_r (&seed) % 2 != 0 || rand_r (&seed) % 2 != 0);
  disk_seed = first;
  assert (client_flush (client) == -1);
  disk_seed = 0;
  disk_mode.flush = FLUSH_WORKS;
  client_flush (client);
  assert (disk[0] == 'd');
  client_read (client, SIZE, 0);
  assert (!result_has (WRONG));
  client_disconnect (client);
  assert (result_has_sum ("a"));
}

/* ---- Clients with and without TLS ---- */

#define MIXED ": clients with and without TLS use it\n"

/* What clients without TLS see can be another disk. */
static int
on_read_tls (void)
{
  disk_on_read = NULL;
  memset (disk, 0, SIZE);
  other = client_open_tls ("b");
  client_extents (other, SIZE, 0);
  client_read (other, SIZE, 0);
  memset (disk, 'd', SIZE);
  return 0;
}

static void
assert_mixed (struct client *client)
{
  assert (!result_has (WRONG));
  client_disconnect (client);
  client_disconnect (other);
  assert (result_has ("# unknown a" MIXED));
  assert (result_has ("# unknown b" MIXED));
  client = client_open_tls ("b");
  client_read (client, SIZE, 0);
  client_disconnect (client);
  assert (result_sums () == 0);
}

static void
mixed_in_flight (void)
{
  struct client *client = client_open ("a");

  disk_on_read = on_read_tls;
  client_read (client, SIZE, 0);
  assert_mixed (client);
}

/* A client with TLS comes while the filter reads the rest. */
static void
mixed_in_pass (void)
{
  struct client *client = client_open ("a");

  client_read (client, SIZE - BLOCK, 0);
  disk_on_read = on_read_tls;
  assert_mixed (client);
}

/* ---- Claims in flight ---- */

/* While a block is read, a half of it is zeroed.  A claim of the other half is
 * ignored.
 */
static int
on_read_zero (void)
{
  disk_on_read = NULL;
  client_zero (other, HALF, BLOCK, 0);
  client_flush (other);
  return 0;
}

static void
tainted_read (void)
{
  struct client *client = client_open ("a");

  other = client_open ("b");
  disk_on_read = on_read_zero;
  client_read (client, BLOCK, BLOCK);
  lie (BLOCK, BLOCK);
  client_extents (client, BLOCK, BLOCK);
  client_read (client, BLOCK, 0);
  client_read (client, SIZE - 2 * BLOCK, 2 * BLOCK);
  client_disconnect (client);
  client_disconnect (other);
  assert (result_sums () == 0);
}

/* Another request refutes the claims after this one has been checked, and
 * before it is in the table.
 */
int __real_leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                                uint64_t offset);
int __wrap_leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                                uint64_t offset);

static struct client *refuter;

int
__wrap_leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                            uint64_t offset)
{
  struct client *client = refuter;

  if (client && locks_held () == 0) {
    refuter = NULL;
    client_read (client, BLOCK, 0);
    client_read (client, 1, SIZE - 1);
  }
  return __real_leaves_observe_zero (l, len, offset);
}

/* A client with TLS comes while the filter queries the extents of the rest. */
static void
mixed_in_query (void)
{
  struct client *client = client_open ("a");

  memset (disk, 0, SIZE);
  client_read (client, 1, 0);
  refuter = other = client_open_tls ("b");
  assert_mixed (client);
}

/* The same, if the first client has made no request: it has no sum. */
static void
idle_in_query (void)
{
  struct client *client = client_open ("a");

  memset (disk, 0, SIZE);
  refuter = other = client_open_tls ("b");
  client_disconnect (client);
  client_disconnect (other);
  assert (!result_has_sum ("a") && result_has_sum ("b"));
}

/* What the first client saw does not count for others. */
static void
idle_is_forgotten (void)
{
  lie (0, 5 * BLOCK);
  client_disconnect (client_open ("a"));
  memset (lies, 0, sizeof lies);
  other = client_open_tls ("a");
  client_write (other, 'w', BLOCK, 8 * BLOCK, 0);
  client_disconnect (other);
  assert (result_has_sum ("a"));
}

static void
refuted_in_flight (void)
{
  struct client *a = client_open ("a"), *b = client_open ("a");

  lie (0, SIZE + 700);
  refuter = b;
  client_extents (a, BLOCK, 0);
  client_read (a, SIZE - BLOCK, BLOCK);
  client_disconnect (b);
  client_disconnect (a);
  assert (result_has_sum ("a"));
}

/* ---- Random cases ---- */

#define CELL 256                /* bytes; claims begin and end at a multiple */
#define CELLS (BLOCK / CELL)

static unsigned seed;

/* What is known of each byte.  Written bytes split a claim: those beside them
 * in the cell can still be claimed.
 */
enum { UNKNOWN, READ, WRITTEN };
static unsigned char known[SIZE];

static uint32_t
below (uint32_t n)
{
  return (uint32_t) rand_r (&seed) % n;
}

static void
complain (const char *what, uint64_t block)
{
  printf ("%s: block %u\n", what, (unsigned) block);
  fflush (NULL);
  abort ();
}

/* Returns true if LEAF can be that of a block that has zeros where bit I of
 * MASK is set for cell I, besides the bytes that were written.
 */
static bool
is_leaf (const unsigned char *leaf, uint64_t block, unsigned mask)
{
  unsigned char content[BLOCK], md[EVP_MAX_MD_SIZE];
  size_t len = SIZE - block * BLOCK < BLOCK ? SIZE - block * BLOCK : BLOCK, i;

  memcpy (content, disk + block * BLOCK, len);
  for (i = 0; i < len; i++)
    if (mask >> i / CELL & 1 && known[block * BLOCK + i] != WRITTEN)
      content[i] = 0;
  EVP_Digest (content, len, md, NULL, EVP_sha256 (), NULL);
  return memcmp (leaf, md, 32) == 0;
}

/* Returns the cells that may be zero in a leaf, although the disk has data. */
static unsigned
unknown_cells (uint64_t block)
{
  unsigned mask = 0, i;

  for (i = 0; i < CELLS; i++) {
    uint64_t offset = block * BLOCK + i * CELL, end = offset + CELL;

    if (lies[offset / 512])
      mask |= 1u << i;
    for (; offset < end && offset < SIZE; offset++)
      if (known[offset] == READ)
        mask &= ~(1u << i);
  }
  return mask;
}

static int
check_data (void *opaque, uint64_t index, size_t count,
            const unsigned char *leaves, size_t leaf_size)
{
  size_t i;

  (void) opaque;
  for (i = 0; i < count; i++) {
    unsigned unknown = unknown_cells (index + i), mask = unknown;

    /* All subsets of UNKNOWN. */
    while (!is_leaf (leaves + i * leaf_size, index + i, mask)) {
      if (mask == 0)
        complain ("wrong leaf", index + i);
      mask = (mask - 1) & unknown;
    }
  }
  return 0;
}

static int
check_zero (void *opaque, uint64_t index, uint64_t count)
{
  uint64_t block, offset;

  (void) opaque;
  for (block = index; block < index + count; block++)
    for (offset = block * BLOCK; offset < (block + 1) * BLOCK; offset++)
      if (offset < SIZE && disk[offset] &&
          (known[offset] == WRITTEN ||
           !(unknown_cells (block) >> offset % BLOCK / CELL & 1)))
        complain ("wrong zeros", block);
  return 0;
}

static const char *const names[] = { "a", "b" };

static void
check_sums (bool truthful)
{
  static const struct blkhash_leaf_sink sink = { check_data, check_zero, NULL,
                                                 { NULL } };
  unsigned i;

  for (i = 0; i < 2; i++) {
    struct export *export = export_find_locked (names[i]);

    if (export && export->published &&
        leaves_fold_to (export->leaves, &sink) != 0)
      complain ("cannot fold", 0);
  }
  if (truthful && result_has (WRONG))
    complain ("the extents are right", 0);
}

static void
make_disk (bool truthful)
{
  unsigned i, kind = 0;

  for (i = 0; i < SIZE; i++) {
    if (i % 512 == 0 && below (3) == 0)
      kind = below (4);
    disk[i] = kind == 0 ? 0 : kind == 1 ? 'd' : kind == 2 && below (100) == 0;
    if (i % 512 == 0)
      lies[i / 512] = !truthful && kind > 0 && below (4) < kind;
  }
}

/* At random whole blocks, halves, cells or bytes. */
static void
choose_range (uint32_t *len, uint64_t *offset, bool bytes)
{
  uint32_t unit = (uint32_t[]) { BLOCK, BLOCK, HALF, CELL, 1 }[
    below (bytes ? 5 : 4)];

  *offset = below (SIZE / unit) * unit;
  *len = (1 + below (unit == 1 ? BLOCK : 3 * BLOCK / unit)) * unit;
  if (*len > SIZE - *offset)
    *len = SIZE - *offset;
}

static void
set_known (uint64_t offset, uint32_t len)
{
  for (; len > 0; offset++, len--)
    known[offset] = disk[offset] ? WRITTEN : UNKNOWN;
}

static void
add_known (uint64_t offset, uint32_t len)
{
  for (; len > 0; offset++, len--)
    if (disk[offset] &&
        __atomic_load_n (&known[offset], __ATOMIC_RELAXED) == UNKNOWN)
      __atomic_store_n (&known[offset], READ, __ATOMIC_RELAXED);
}

static void
random_request (struct client *client)
{
  unsigned kind = below (20);
  uint64_t offset;
  uint32_t len;

  choose_range (&len, &offset, kind >= 8);
  if (kind < 8)
    client_extents (client, len, offset);
  else if (kind < 16) {
    client_read (client, len, offset);
    add_known (offset, len);
  }
  else {
    if (kind < 18)
      client_write (client, "wW"[kind - 16], len, offset, 0);
    else
      client_zero (client, len, offset, 0);
    set_known (offset, len);
    client_flush (client);      /* the other client may see it from now on */
  }
}

static void
random_case (void)
{
  struct client *clients[2] = { NULL, NULL };
  unsigned requests = 10 + below (150), i;
  bool truthful = below (4) == 0;

  start_with (below (2) ? "read" : "fail", SIZE, BLOCK, false);
  make_disk (truthful);
  while (requests-- > 0) {
    i = below (2);
    if (!clients[i])
      clients[i] = client_open (names[below (4) == 0]);
    else if (below (25) > 0)
      random_request (clients[i]);
    else {
      client_disconnect (clients[i]);
      clients[i] = NULL;
    }
    check_sums (truthful);
  }
  for (i = 0; i < 2; i++)
    if (clients[i])
      client_disconnect (clients[i]);
  check_sums (truthful);
  /* A client that reads everything gets a sum.  If the first read proves that
   * the extents are wrong, it is forgotten.
   */
  for (i = 0; i < 2; i++) {
    clients[0] = client_open (names[i]);
    client_read (clients[0], SIZE, 0);
    client_read (clients[0], SIZE, 0);
    client_disconnect (clients[0]);
    if (!result_has_sum (names[i]))
      complain ("no sum", 0);
  }
  result_stop (NULL);
}

/* Threads query and read.  The order of their requests does not matter. */
static void *
run_thread (void *opaque)
{
  unsigned own = (uintptr_t) opaque, requests = 60, kind;
  struct client *client = client_open (names[own % 2]);
  uint64_t offset;
  uint32_t len;

  for (; requests > 0; requests--) {
    offset = (unsigned) rand_r (&own) % (SIZE / CELL) * CELL;
    len = (1 + (unsigned) rand_r (&own) % (3 * CELLS)) * CELL;
    kind = (unsigned) rand_r (&own) % 3;
    if (len > SIZE - offset)
      len = SIZE - offset;
    if (kind == 0)
      client_extents (client, len, offset);
    else {
      client_read (client, len, offset);
      add_known (offset, len);
    }
  }
  client_disconnect (client);
  return NULL;
}

static void
random_threads (void)
{
  bool truthful = below (4) == 0;
  pthread_t threads[4];
  unsigned i;

  start_with (below (2) ? "read" : "fail", SIZE, BLOCK, false);
  make_disk (truthful);
  for (i = 0; i < 4; i++)
    assert (pthread_create (&threads[i], NULL, run_thread,
                            (void *) (uintptr_t) rand_r (&seed)) == 0);
  for (i = 0; i < 4; i++)
    pthread_join (threads[i], NULL);
  check_sums (truthful);
  result_stop (NULL);
}

/* ---- Processes ---- */

static unsigned first_seed, rounds = 60;

/* Each case is a process, because the state of the filter is static. */
static void
run_case (void (*fn) (void))
{
  int status;
  pid_t pid;

  fflush (NULL);
  pid = fork ();
  if (pid == 0) {
    signal (SIGABRT, SIG_DFL);
    signal (SIGSEGV, SIG_DFL);
    setenv ("CMOCKA_TEST_ABORT", "1", 1); /* not continue with other tests */
    fn ();
    exit (0);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  if (status != 0)
    fail_msg ("status %#x: BLKHASH_SEED=%u", status, seed);
}

static void (*current_case) (void);

static void
run_missing_fail (void)
{
  start ("fail");
  current_case ();
  result_stop (NULL);
}

static void
run_missing_read (void)
{
  start ("read");
  current_case ();
  result_stop (NULL);
}

static void
run_large (void)
{
  bool wide = current_case == many_rests;

  start_with ("read", wide ? 65536 : 4100 * 1024, wide ? 65536 : 1024, true);
  current_case ();
  result_stop (NULL);
}

struct one {
  void (*run) (void);
  void (*fn) (void);
};

static void
test_case (void **state)
{
  const struct one *one = *state;

  current_case = one->fn;
  run_case (one->run);
}

#define CASE(run, fn) \
  { #fn, test_case, NULL, NULL, &(struct one) { run, fn } }

static void
test_random (void **state)
{
  unsigned i;

  for (i = 0; i < rounds; i++) {
    seed = first_seed + i;
    run_case (*state);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    CASE (run_missing_fail, claim_then_read),
    CASE (run_missing_fail, read_then_claim),
    CASE (run_missing_fail, read_then_query),
    CASE (run_missing_fail, half_each),
    CASE (run_missing_fail, half_then_all),
    CASE (run_missing_fail, half_then_odd),
    CASE (run_missing_fail, part_of_complete),
    CASE (run_missing_fail, short_claim),
    CASE (run_missing_fail, long_claim),
    CASE (run_missing_fail, claim_at_end),
    CASE (run_missing_fail, claim_at_start),
    CASE (run_missing_fail, last_block),
    CASE (run_missing_fail, zeroed_in_part),
    CASE (run_missing_fail, claimed_and_written),
    CASE (run_missing_fail, claimed_before_written),
    CASE (run_missing_read, evicted),
    CASE (run_missing_read, evicted_overlap),
    CASE (run_missing_read, evicted_short),
    CASE (run_missing_read, alias_reads),
    CASE (run_missing_read, alias_claims),
    CASE (run_missing_read, sum_again),
    CASE (run_missing_read, written),
    CASE (run_missing_read, at_end),
    CASE (run_missing_read, refuted_in_flight),
    CASE (run_missing_fail, tainted_read),
    CASE (run_large, many_rests),
    CASE (run_large, many_parts),
    CASE (run_large, last_of_many_parts),
    CASE (run_missing_fail, many_runs),
    CASE (run_missing_fail, right_halves),
    CASE (run_missing_fail, right_bytes),
    CASE (run_missing_fail, right_after_zero),
    CASE (run_missing_fail, right_after_part),
    CASE (run_missing_fail, right_after_edges),
    CASE (run_missing_fail, right_after_resize),
    CASE (run_missing_fail, right_with_sizes),
    CASE (run_missing_read, right_after_write),
    CASE (run_missing_read, right_in_flight),
    CASE (run_missing_fail, neighbor_in_flight),
    CASE (run_missing_read, right_after_lost),
    CASE (run_missing_read, mixed_in_flight),
    CASE (run_missing_read, mixed_in_pass),
    CASE (run_missing_read, mixed_in_query),
    CASE (run_missing_read, idle_in_query),
    CASE (run_missing_read, idle_is_forgotten),
    { "random_case", test_random, NULL, NULL, random_case },
    { "random_threads", test_random, NULL, NULL, random_threads },
  };
  const char *given = getenv ("BLKHASH_SEED"), *slow = getenv ("BLKHASH_SLOW");

  first_seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);
  if (slow && *slow && strcmp (slow, "0") != 0)
    rounds = 2000;
  given = getenv ("BLKHASH_ROUNDS");
  if (given)
    rounds = strtoul (given, NULL, 10);
  printf ("BLKHASH_SEED=%u\n", first_seed);
  return cmocka_run_group_tests (tests, NULL, NULL);
}

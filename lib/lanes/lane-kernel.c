/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hash whole messages with a kernel, which is a SIMD (multi-buffer)
 * implementation that only compresses message blocks.  This code sets the
 * initial state, pads the end of the messages, and extracts the digests from
 * the final state.  It also has the self-test of a kernel.  It is shared by all
 * kernels of all hashes.
 */

#include <config.h>

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "common/util.h"
#include "lanes/lane-kernel.h"

/* ---- The state of the lanes ---- */

static void
set_initial_state (const struct lane_hash *hash, void *state, size_t lanes)
{
  uint32_t *word32 = state;
  uint64_t *word64 = state;
  size_t word, end, i = 0;

  for (word = 0; word < hash->words; word++)
    if (hash->word == sizeof *word64)
      for (end = i + lanes; i < end; i++)
        word64[i] = hash->initial_state[word];
    else
      for (end = i + lanes; i < end; i++)
        word32[i] = hash->initial_state[word];
}

/* Extract the digest of lane I from the state of LANES lanes. */
static void
get_digest (const struct lane_hash *hash, const void *state, size_t lanes,
            size_t i, unsigned char *md)
{
  const unsigned char *end = md + hash->md;
  const uint32_t *word32 = state;
  const uint64_t *word64 = state;

  if (hash->word == sizeof *word32)
    for (; md < end; md += sizeof *word32, i += lanes) {
      uint32_t word = htobe32 (word32[i]);

      memcpy (md, &word, sizeof word);
    }
  else
    for (; md < end; md += sizeof *word64, i += lanes) {
      uint64_t word = hash->kind == LANE_FIPS180 ? htobe64 (word64[i])
                                                 : htole64 (word64[i]);

      memcpy (md, &word, sizeof word);
    }
}

/* Prepare the state for the last block of messages of LEN bytes.  Before the
 * kernel compresses that block, it adds the size of a full block to the number
 * of bytes, so this size is subtracted here.
 */
static void
set_last (const struct lane_hash *hash, void *state, size_t lanes, size_t len)
{
  uint64_t *word64 = state;
  size_t i;

  if (hash->kind != LANE_BLAKE2B)
    return;
  for (i = 0; i < lanes; i++) {
    word64[8 * lanes + i] = (uint64_t) len - hash->block;
    word64[9 * lanes + i] = UINT64_MAX;
  }
}

/* ---- The end of a message ---- */

/* Returns how many blocks of a message of LEN bytes are hashed without padding.
 * BLAKE2b compresses the last block differently, so that block is not counted.
 */
static size_t
whole_blocks (const struct lane_hash *hash, size_t len)
{
  if (hash->kind == LANE_BLAKE2B && len > 0)
    len--;
  return len / hash->block;
}

/* Copy the bytes after the whole blocks of MESSAGE to END, and pad them.
 * Returns the number of message blocks in END.
 */
static size_t
pad (const struct lane_hash *hash, unsigned char end[2 * LANE_MAX_BLOCK],
     const unsigned char *message, size_t len)
{
  size_t rest = len - whole_blocks (hash, len) * hash->block;
  size_t blocks = rest + 1 + hash->length <= hash->block ? 1 : 2;
  uint64_t bits = htobe64 ((uint64_t) len * 8);

  memset (end, 0, 2 * hash->block);
  if (rest > 0)
    memcpy (end, message + len - rest, rest);
  if (hash->kind == LANE_BLAKE2B)
    return 1;
  end[rest] = 0x80;
  memcpy (end + blocks * hash->block - sizeof bits, &bits, sizeof bits);
  return blocks;
}

/* ---- Hash messages ---- */

static void
compress (const struct lane_kernel *kernel, unsigned char *states,
          size_t state_size, const unsigned char *const *data, size_t blocks,
          size_t count)
{
  size_t i;

  if (kernel->compress_many && count > 1)
    kernel->compress_many (states, data, blocks, count);
  else
    for (i = 0; i < count; i++)
      kernel->compress (states + i * state_size, data + i * kernel->lanes,
                        blocks);
}

/* Each of COUNT states is compressed to the end of the whole blocks before the
 * first one is compressed further, because states do not depend on each other,
 * so that the CPU can overlap them, and COMPRESS_MANY can.
 *
 * A lane without a message hashes the message of the first lane again.  If the
 * messages end with a whole block, all have the same padding.
 */
void
lane_kernel_hash (const struct lane_hash *hash,
                  const struct lane_kernel *kernel,
                  const void *const data[], size_t len,
                  unsigned char *const md[], size_t count)
{
  union lane_state all;
  unsigned char *states = (void *) &all;
  unsigned char end[LANES_MAX][2 * LANE_MAX_BLOCK];
  const unsigned char *from[LANES_MAX] = { NULL };
  const size_t lanes = kernel->lanes, nr_states = DIV_ROUND_UP (count, lanes);
  const size_t size = ROUND_UP (hash->words * hash->word * lanes, 64);
  const size_t whole = whole_blocks (hash, len);
  const size_t ends = whole * hash->block == len ? 1 : count;
  size_t i, blocks = 0;

  assert (count > 0 && nr_states * lanes <= LANES_MAX);
  for (i = 0; i < nr_states; i++)
    set_initial_state (hash, states + i * size, lanes);
  for (i = 0; i < nr_states * lanes; i++)
    from[i] = data[i < count ? i : 0];
  compress (kernel, states, size, from, whole, nr_states);

  for (i = 0; i < ends; i++)
    blocks = pad (hash, end[i], from[i], len);
  for (i = 0; i < nr_states * lanes; i++)
    from[i] = end[i < ends ? i : 0];
  for (i = 0; i < nr_states; i++)
    set_last (hash, states + i * size, lanes, len);
  compress (kernel, states, size, from, blocks, nr_states);

  for (i = 0; i < count; i++)
    get_digest (hash, states + i / lanes * size, lanes, i % lanes, md[i]);
}

/* In each round one bit of the index of a lane selects the message of that
 * lane.  The indexes of any two lanes differ in some bit, so a kernel that
 * confuses lanes is detected.
 */
static bool
hashes_lanes (const struct lane_hash *hash, const struct lane_kernel *kernel,
              size_t count)
{
  unsigned char message[2][LANE_SELF_TEST_LEN], md[LANES_MAX][LANE_MAX_MD];
  const void *data[LANES_MAX];
  unsigned char *out[LANES_MAX];
  size_t i, bit;

  for (i = 0; i < LANE_SELF_TEST_LEN; i++) {
    message[0][i] = i;
    message[1][i] = 255 - i;
  }
  for (bit = 1; bit < count; bit *= 2) {
    for (i = 0; i < count; i++) {
      data[i] = message[(i & bit) != 0];
      out[i] = md[i];
    }
    lane_kernel_hash (hash, kernel, data, LANE_SELF_TEST_LEN, out, count);
    for (i = 0; i < count; i++)
      if (memcmp (md[i], hash->self_test_md[(i & bit) != 0], hash->md) != 0)
        return false;
  }
  return true;
}

bool
lane_kernel_works (const struct lane_hash *hash,
                   const struct lane_kernel *kernel)
{
  return hashes_lanes (hash, kernel, kernel->lanes) &&
    (!kernel->compress_many ||
     hashes_lanes (hash, kernel, LANES_MAX / kernel->lanes * kernel->lanes));
}

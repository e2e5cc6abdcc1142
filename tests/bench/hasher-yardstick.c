/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions to compare digests with: a no-op, a copy, and CRC32C, the checksum
 * of file systems.
 */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "hasher.h"
#include "manifest/manifest-format.h"

struct yardstick {
  struct hasher hasher;
  volatile uint32_t crc;        /* volatile, so that it is computed */
  unsigned char copy[];
};

static void
run_nop (struct hasher *hasher,
         const unsigned char *data, size_t size, size_t count)
{
  struct yardstick *y = (struct yardstick *) hasher;
  size_t i;

  for (i = 0; i < count; i++)
    y->crc = data[i * size];
}

static void
run_memcpy (struct hasher *hasher,
            const unsigned char *data, size_t size, size_t count)
{
  struct yardstick *y = (struct yardstick *) hasher;
  size_t i;

  for (i = 0; i < count; i++) {
    memcpy (y->copy, data + i * size, size);
    __asm__ volatile ("" : : "r" (y->copy) : "memory"); /* the copy is used */
  }
}

static void
run_crc32c (struct hasher *hasher,
            const unsigned char *data, size_t size, size_t count)
{
  struct yardstick *y = (struct yardstick *) hasher;
  size_t i;

  for (i = 0; i < count; i++)
    y->crc = crc32c (0, data + i * size, size);
}

/* Returns 0 bytes, or the CRC of the last block, big-endian. */
static size_t
yardstick_checksum (struct hasher *hasher, unsigned char *md)
{
  struct yardstick *y = (struct yardstick *) hasher;
  const uint32_t crc = y->crc;
  unsigned i;

  if (hasher->run != run_crc32c)
    return 0;
  for (i = 0; i < sizeof crc; i++)
    md[i] = crc >> (24 - 8 * i);
  return sizeof crc;
}

static void
free_yardstick (struct hasher *hasher)
{
  free (hasher);
}

static const struct {
  const char *name;
  void (*run) (struct hasher *, const unsigned char *, size_t, size_t);
} yardsticks[] = {
  { "nop", run_nop },
  { "memcpy", run_memcpy },
  { "crc32c", run_crc32c },
};

struct hasher *
yardstick_hasher (const char *name, size_t block_size)
{
  struct yardstick *y;
  size_t i;

  for (i = 0; i < sizeof yardsticks / sizeof yardsticks[0]; i++)
    if (strcmp (name, yardsticks[i].name) == 0) {
      y = malloc (sizeof *y + block_size);
      if (!y)
        die (1, "out of memory");
      y->hasher.run = yardsticks[i].run;
      y->hasher.checksum = yardstick_checksum;
      y->hasher.free = free_yardstick;
      return &y->hasher;
    }
  return NULL;
}

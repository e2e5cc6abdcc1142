/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of parts of blocks.
 *
 * The parts of a block are in a hash table, at the index of the block, each in
 * a slot of its own.  A part that overlaps or touches an added one is merged
 * with it.
 *
 * Rejected: struct block_set with blocks of one byte.  Around an isolated part
 * its nodes take a hundred times the memory.
 */

#include <config.h>

#include <stdlib.h>

#include "../lib/common/util.h"
#include "part-set.h"

#define MIN_ROOM 64

static size_t
slot_of (const struct part_set *set, uint64_t index)
{
  /* Fibonacci hashing, because clients often access strides. */
  return (index * UINT64_C (0x9e3779b97f4a7c15) >> 32) & (set->room - 1);
}

static size_t
next_slot (const struct part_set *set, size_t slot)
{
  return (slot + 1) & (set->room - 1);
}

static bool
is_used (const struct part *part)
{
  return part->end > 0;
}

static bool
is_empty (const struct part *part)
{
  return part->start == part->end;
}

/* Returns the slot for a new part of block INDEX. */
static struct part *
free_slot (struct part_set *set, uint64_t index)
{
  size_t slot = slot_of (set, index);

  while (!is_empty (&set->table[slot]))
    slot = next_slot (set, slot);
  return &set->table[slot];
}

static void
insert (struct part_set *set, const struct part *part)
{
  struct part *slot = free_slot (set, part->index);

  set->used += !is_used (slot);
  *slot = *part;
}

/* Make room for another part.  At most half of the slots are used, so that
 * searches end soon.
 */
static bool
make_room (struct part_set *set)
{
  struct part_set larger = { 0 };
  size_t i, parts = 0;

  if (set->used < set->room / 2)
    return true;
  for (i = 0; i < set->room; i++)
    parts += !is_empty (&set->table[i]);
  larger.room = MAX (MIN_ROOM, set->room);
  if (parts >= larger.room / 4)
    larger.room *= 2;
  larger.table = calloc (larger.room, sizeof *larger.table);
  if (!larger.table)
    return false;
  for (i = 0; i < set->room; i++)
    if (!is_empty (&set->table[i]))
      insert (&larger, &set->table[i]);
  part_set_clear (set);
  *set = larger;
  return true;
}

/* Extend PART by the parts that overlap or touch it, and remove these.  Returns
 * the number of the other parts of the block.
 */
static size_t
merge (struct part_set *set, struct part *part)
{
  size_t slot, others = 0;

  for (slot = slot_of (set, part->index); is_used (&set->table[slot]);
       slot = next_slot (set, slot)) {
    struct part *other = &set->table[slot];

    if (other->index != part->index || is_empty (other))
      continue;
    if (other->start <= part->end && other->end >= part->start) {
      part->start = MIN (part->start, other->start);
      part->end = MAX (part->end, other->end);
      part_remove (other);
    }
    else
      others++;
  }
  return others;
}

bool
part_set_add (struct part_set *set, size_t max, uint64_t index,
              uint32_t start, uint32_t len)
{
  struct part part = { index, start, start + len };
  size_t others;

  if (set->used >= max || !make_room (set))
    return false;
  /* An extended part may touch parts that were searched before. */
  do {
    len = part.end - part.start;
    others = merge (set, &part);
  } while (part.end - part.start > len);
  if (others >= PARTS_OF_BLOCK)
    return false;
  insert (set, &part);
  return true;
}

struct visit {
  uint32_t block_size;
  uint64_t offset, end;
  bool (*fn) (void *opaque, struct part *part);
  void *opaque;
};

/* Call the function if PART overlaps the range of the visit. */
static bool
visit_part (const struct visit *v, struct part *part)
{
  uint64_t block = part->index * v->block_size;

  return !is_empty (part) && block + part->start < v->end &&
    block + part->end > v->offset && v->fn (v->opaque, part);
}

static bool
visit_block (struct part_set *set, const struct visit *v, uint64_t index)
{
  size_t slot;

  for (slot = slot_of (set, index); is_used (&set->table[slot]);
       slot = next_slot (set, slot))
    if (set->table[slot].index == index && visit_part (v, &set->table[slot]))
      return true;
  return false;
}

bool
part_set_visit (struct part_set *set, uint32_t block_size,
                uint64_t offset, uint64_t end,
                bool (*fn) (void *opaque, struct part *part), void *opaque)
{
  const struct visit v = { block_size, offset, end, fn, opaque };
  uint64_t index, last;
  size_t i;

  if (set->used == 0 || offset >= end)
    return false;
  index = offset / block_size;
  last = (end - 1) / block_size;
  if (last - index < set->room / 8) {
    for (; index <= last; index++)
      if (visit_block (set, &v, index))
        return true;
    return false;
  }
  for (i = 0; i < set->room; i++)
    if (visit_part (&v, &set->table[i]))
      return true;
  return false;
}

void
part_set_clear (struct part_set *set)
{
  free (set->table);
  *set = (struct part_set) { 0 };
}

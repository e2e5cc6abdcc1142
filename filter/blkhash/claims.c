/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which extents of a disk prove that it is zero.  See claims.h.
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "blkhash.h"
#include "blkhash/claims.h"
#include "blkhash/params.h"

/* ---- Sets of parts of blocks ----
 *
 * The parts of a block are in a hash table, at the index of the block, each in
 * a slot of its own.  A part that overlaps or touches an added one is merged
 * with it.
 *
 * Rejected: struct block_set with blocks of one byte.  Around an isolated part
 * its nodes take a hundred times the memory.
 */

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
is_used (const struct block_part *part)
{
  return part->end > 0;
}

static bool
is_empty (const struct block_part *part)
{
  return part->start == part->end;
}

/* Returns the slot for a new part of block INDEX. */
static struct block_part *
free_slot (struct part_set *set, uint64_t index)
{
  size_t slot = slot_of (set, index);

  while (!is_empty (&set->table[slot]))
    slot = next_slot (set, slot);
  return &set->table[slot];
}

static void
insert (struct part_set *set, const struct block_part *part)
{
  struct block_part *slot = free_slot (set, part->index);

  set->used += !is_used (slot);
  *slot = *part;
}

void
part_set_clear (struct part_set *set)
{
  free (set->table);
  *set = (struct part_set) { 0 };
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
merge (struct part_set *set, struct block_part *part)
{
  size_t slot, others = 0;

  for (slot = slot_of (set, part->index); is_used (&set->table[slot]);
       slot = next_slot (set, slot)) {
    struct block_part *other = &set->table[slot];

    if (other->index != part->index || is_empty (other))
      continue;
    if (other->start <= part->end && other->end >= part->start) {
      part->start = MIN (part->start, other->start);
      part->end = MAX (part->end, other->end);
      block_part_remove (other);
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
  struct block_part part = { index, start, start + len };
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
  bool (*fn) (void *opaque, struct block_part *part);
  void *opaque;
};

/* Call the function if PART overlaps the range of the visit. */
static bool
visit_part (const struct visit *v, struct block_part *part)
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
                bool (*fn) (void *opaque, struct block_part *part),
                void *opaque)
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

/* ---- Claims and reads ---- */

#define CHUNK 512               /* bytes; data is searched in these steps */
#define MAX_GAP (2 * CHUNK)
#define MAX_ZERO_PARTS (UINT32_C (1) << 21) /* 64 MiB of memory */
#define MAX_DATA_PARTS 4096     /* more than the leaf tables usually have
                                 * partial blocks */

static uint64_t
block_size (void)
{
  return blkhash_opts_get_block_size (params.hash);
}

struct evidence *
claims_evidence (struct claims *c, uint64_t size)
{
  struct evidence *e;

  for (e = c->evidence; e; e = e->next)
    if (e->size == size)
      return e;
  e = calloc (1, sizeof *e);
  if (!e)
    return NULL;
  e->size = size;
  e->next = c->evidence;
  c->evidence = e;
  return e;
}

/* ---- Changes ---- */

void
claims_unproven (struct claims *c, uint64_t offset, uint64_t end)
{
  block_set_add (&c->unproven, block_size (), offset, end);
}

/* Add a part of a block that is claimed to be zero. */
static bool
add_zero_part (struct evidence *e, uint64_t start, uint64_t end)
{
  return part_set_add (&e->zero_parts, MAX_ZERO_PARTS, start / block_size (),
                       start % block_size (), end - start);
}

/* The bytes from OFFSET to END were changed. */
struct changed {
  uint64_t offset, end;
  uint64_t rest, rest_end;      /* what is left of a part after END, and must be
                                 * added again */
};

static bool
change_part (void *opaque, struct block_part *part)
{
  struct changed *changed = opaque;
  uint64_t block = part->index * block_size ();

  if (block + part->end > changed->end) {
    changed->rest = changed->end;
    changed->rest_end = block + part->end;
  }
  if (block + part->start < changed->offset)
    part->end = changed->offset - block;
  else
    block_part_remove (part);
  return false;
}

/* If the block with the byte AT is claimed to be zero, replace it by a part.
 * Returns false if there is no room.
 */
static bool
block_to_part (struct evidence *e, uint64_t at)
{
  uint64_t block = ROUND_DOWN (at, block_size ()), run_end;

  if (!block_set_contains (&e->zeros, block_size (), at, at + 1, &run_end))
    return true;
  block_set_remove (&e->zeros, block_size (), block, block + block_size ());
  return add_zero_part (e, block, block + block_size ());
}

static bool
evidence_changed (struct evidence *e, uint64_t offset, uint64_t end)
{
  struct changed changed = { offset, end, 0, 0 };
  bool ok;

  if (offset == end || (block_set_is_empty (&e->zeros) &&
                        e->zero_parts.used == 0))
    return true;
  block_set_remove (&e->zeros, block_size (), offset, end);
  ok = block_to_part (e, offset) & block_to_part (e, end - 1);
  part_set_visit (&e->zero_parts, block_size (), offset, end, change_part,
                  &changed);
  return (changed.rest == changed.rest_end ||
          add_zero_part (e, changed.rest, changed.rest_end)) && ok;
}

bool
claims_changed (struct claims *c, uint64_t offset, uint64_t end)
{
  struct evidence *e;
  bool ok = true;

  claims_unproven (c, offset, end);
  for (e = c->evidence; e; e = e->next)
    ok &= evidence_changed (e, offset, end);
  return ok;
}

struct zeroed {
  struct claims *c;
  uint64_t offset, end;
};

/* Forget a part of which at least one byte is zero now.  If the rest of it
 * still has data, it is not known where.
 */
static bool
zero_part (void *opaque, struct block_part *part)
{
  struct zeroed *z = opaque;
  uint64_t block = part->index * block_size ();

  if (block + part->start < z->offset || block + part->end > z->end)
    claims_unproven (z->c, block, block + 1);
  block_part_remove (part);
  return false;
}

/* The block of the byte AT may have been zeroed in part. */
static void
zero_edge (struct claims *c, struct evidence *e, uint64_t at)
{
  uint64_t run_end;

  if (block_set_contains (&e->data, block_size (), at, at + 1, &run_end))
    claims_unproven (c, at, at + 1);
}

void
claims_zeroed (struct claims *c, uint64_t offset, uint64_t end)
{
  struct zeroed z = { c, offset, end };
  struct evidence *e;

  for (e = c->evidence; e && offset < end; e = e->next) {
    part_set_visit (&e->data_parts, block_size (), offset, end, zero_part, &z);
    if (block_set_is_empty (&e->data))
      continue;
    block_set_remove (&e->data, block_size (), offset, end);
    zero_edge (c, e, offset);
    zero_edge (c, e, end - 1);
  }
}

/* ---- Claims ---- */

static void
set_wrong (struct claims *c, const struct evidence *e, uint64_t at)
{
  c->no_memory = e->zeros.all || e->data.all;
  c->wrong = true;
  c->wrong_at = at;
}

struct claimed {
  uint64_t offset, end;
  bool has_data;                /* the claim overlaps a part with data */
  uint64_t at;                  /* where this part begins in the claim */
};

/* Returns true if the claim contains a byte of the part that is not zero. */
static bool
compare_claim (void *opaque, struct block_part *part)
{
  struct claimed *claim = opaque;
  uint64_t start = part->index * block_size () + part->start;
  uint64_t end = start + (part->end - part->start);

  claim->has_data = true;
  claim->at = MAX (claim->offset, start);
  return claim->offset <= start || claim->end >= end ||
    claim->end - claim->offset >= MAX_GAP;
}

static enum claim
add_blocks (struct claims *c, struct evidence *e, uint64_t offset,
            uint64_t *end)
{
  struct claimed claim = { offset, *end, false, 0 };

  if (block_set_contains (&e->data, block_size (), offset, *end, end)) {
    set_wrong (c, e, offset);
    return CLAIM_WRONG;
  }
  if (part_set_visit (&e->data_parts, block_size (), offset, *end,
                      compare_claim, &claim)) {
    set_wrong (c, e, claim.at);
    return CLAIM_WRONG;
  }
  block_set_add (&e->zeros, block_size (), offset, *end);
  return CLAIM_COUNTS;
}

/* The part of the claim from OFFSET to PART_END is within a block. */
static enum claim
add_part (struct claims *c, struct evidence *e, uint64_t offset, uint64_t end,
          uint64_t part_end)
{
  struct claimed claim = { offset, end, false, 0 };
  uint64_t run_end;

  if (block_set_contains (&e->data, block_size (), offset, part_end, &run_end))
    return CLAIM_IGNORED;
  if (part_set_visit (&e->data_parts, block_size (), offset, part_end,
                      compare_claim, &claim)) {
    set_wrong (c, e, claim.at);
    return CLAIM_WRONG;
  }
  if (claim.has_data)
    return CLAIM_IGNORED;
  if (block_set_contains (&e->zeros, block_size (), offset, part_end,
                          &run_end) ||
      add_zero_part (e, offset, part_end))
    return CLAIM_COUNTS;
  return CLAIM_IGNORED;
}

enum claim
claims_add (struct claims *c, struct evidence *e, uint64_t offset, uint64_t end,
            uint64_t *run_end)
{
  uint64_t whole_end;

  *run_end = end;
  if (c->wrong ||
      block_set_contains (&c->unproven, block_size (), offset, end, run_end))
    return CLAIM_IGNORED;
  whole_end = ROUND_DOWN (*run_end, block_size ());
  if (offset % block_size () == 0 && offset < whole_end) {
    *run_end = whole_end;
    return add_blocks (c, e, offset, run_end);
  }
  *run_end = MIN (*run_end, ROUND_DOWN (offset, block_size ()) + block_size ());
  return add_part (c, e, offset, end, *run_end);
}

/* ---- Reads ---- */

/* Returns the end of the block at OFFSET, or of the part of it in a read that
 * ends at END.  *PART is set if it is a part.
 */
static uint64_t
end_of_block (uint64_t size, uint64_t offset, uint64_t end, bool *part)
{
  uint64_t block = ROUND_DOWN (offset, size);

  *part = offset != block || block + size > end;
  return MIN (block + size, end);
}

/* Most data begins with a byte that is not zero. */
static bool
is_data (const unsigned char *buf, uint64_t len)
{
  return *buf != 0 || !is_zero (buf, len);
}

/* Remove zeros from both ends of a part, which has data. */
static void
trim (const unsigned char *buf, struct byte_range *part)
{
  uint64_t len = part->end - part->start, start = 0;

  while (buf[start] == 0)
    start++;
  while (buf[len - 1] == 0)
    len--;
  part->end = part->start + len;
  part->start += start;
}

bool
claims_next_data (const unsigned char *buf, uint64_t offset, uint64_t len,
                  struct byte_range *run)
{
  uint64_t size = block_size (), end = offset + len, at, next;
  bool part = false, is_part;

  run->start = run->end;
  for (at = run->start; at < end; at = next) {
    next = end_of_block (size, at, end, &is_part);
    if (run->start < run->end &&
        (is_part != part || (part && at == ROUND_DOWN (at, size))))
      break;
    if (is_part)
      next = MIN (next, ROUND_DOWN (at, (uint64_t) CHUNK) + CHUNK);
    if (is_data (buf + (at - offset), next - at)) {
      if (run->start == run->end)
        run->start = at;
      run->end = next;
      part = is_part;
    }
    else if (run->start < run->end)
      break;
    else
      run->start = run->end = next;
  }
  if (run->start == run->end)
    return false;
  if (part)
    trim (buf + (run->start - offset), run);
  return true;
}

static bool
part_to_block (void *opaque, struct block_part *part)
{
  struct evidence *e = opaque;
  uint64_t block = part->index * block_size ();

  block_set_add (&e->data, block_size (), block, block + 1);
  return false;
}

static void
add_data_part (struct evidence *e, struct byte_range part)
{
  uint64_t index = part.start / block_size ();

  if (part_set_add (&e->data_parts, MAX_DATA_PARTS, index,
                    part.start - index * block_size (), part.end - part.start))
    return;
  part_set_visit (&e->data_parts, block_size (), 0, UINT64_MAX,
                  part_to_block, e);
  part_set_clear (&e->data_parts);
  block_set_add (&e->data, block_size (), part.start, part.end);
}

struct data_read {
  struct claims *c;
  const struct evidence *e;
  struct byte_range run;
  const unsigned char *buf;
};

/* The range was read, and claimed to be zero.  Returns true if the claim is
 * wrong.
 */
static bool
compare_read (const struct data_read *read, uint64_t offset, uint64_t end)
{
  const unsigned char *bytes = read->buf + (offset - read->run.start);

  if (is_zero (bytes, end - offset))
    return false;
  while (*bytes++ == 0)
    offset++;
  set_wrong (read->c, read->e, offset);
  return true;
}

static bool
compare_part (void *opaque, struct block_part *part)
{
  const struct data_read *read = opaque;
  uint64_t block = part->index * block_size ();

  return compare_read (read, MAX (read->run.start, block + part->start),
                       MIN (read->run.end, block + part->end));
}

bool
claims_read (struct claims *c, struct evidence *e, struct byte_range run,
             const unsigned char *buf)
{
  const struct data_read read = { c, e, run, buf };
  uint64_t offset, run_end;

  if (c->wrong)
    return true;
  if (run.start % block_size () == 0 && run.end % block_size () == 0)
    block_set_add (&e->data, block_size (), run.start, run.end);
  else
    add_data_part (e, run);

  for (offset = run.start; offset < run.end; offset = run_end)
    if (block_set_contains (&e->zeros, block_size (), offset, run.end,
                            &run_end) &&
        compare_read (&read, offset, run_end))
      return false;
  return !part_set_visit (&e->zero_parts, block_size (), run.start, run.end,
                          compare_part, (void *) &read);
}

/* ---- The result ---- */

void
claims_why (const struct claims *c, char why[CLAIMS_WHY_SIZE])
{
  if (c->no_memory)
    snprintf (why, CLAIMS_WHY_SIZE, "no memory");
  else
    snprintf (why, CLAIMS_WHY_SIZE, "zeros were reported at offset %" PRIu64
              ", but other data was read", c->wrong_at);
}

void
claims_destroy (struct claims *c)
{
  struct evidence *e;

  while ((e = c->evidence)) {
    c->evidence = e->next;
    block_set_clear (&e->zeros);
    block_set_clear (&e->data);
    part_set_clear (&e->zero_parts);
    part_set_clear (&e->data_parts);
    free (e);
  }
  block_set_clear (&c->unproven);
}

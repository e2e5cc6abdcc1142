/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For call-faults.c: the calls of one module of nbdkit, and the memory that it
 * does not free.
 *
 * nbdkit loads the module after main.  A call is one of the module if it is made by
 * the module itself, or for it by a library, in a function that the module called.
 * If there is another filter or a plugin between, it is theirs.  Of nbdkit's own
 * functions only allocations count.
 */

#define _GNU_SOURCE
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call-faults.h"

#define FRAMES 24
#define MEMORY (1 << 16)        /* blocks of memory that the module may have */

struct range {
  uintptr_t start, end;
};

static const char *wanted;      /* a part of the file name of the module */
static struct range module, libc, program, others[8];
static size_t nr_others;
static void *handle;            /* of the module */
static bool unloaded;

static bool
is_in (const struct range *range, const void *p)
{
  return (uintptr_t) p >= range->start && (uintptr_t) p < range->end;
}

/* ---- The module ---- */

void
module_wanted (const char *name)
{
  wanted = name;
}

static int
find_module (struct dl_phdr_info *info, size_t size, void *address)
{
  struct range range = { info->dlpi_addr, 0 };

  (void) size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      range.end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
        info->dlpi_phdr[i].p_memsz;
  if (strstr (info->dlpi_name, "/libc.so"))
    libc = range;
  if (!*info->dlpi_name)
    program = range;
  if (!is_in (&range, address))
    return 0;
  if (strstr (info->dlpi_name, wanted))
    module = range;
  else if (nr_others < sizeof others / sizeof others[0])
    others[nr_others++] = range;
  return 0;
}

void
module_found (void *from, const char *name, void *address)
{
  if (wanted && address && (strcmp (name, "filter_init") == 0 ||
                            strcmp (name, "plugin_init") == 0)) {
    dl_iterate_phdr (find_module, address);
    if (is_in (&module, address))
      handle = from;
  }
}

void
module_closed (void *from)
{
  unloaded |= handle && from == handle;
}

enum module_caller
module_of (const void *caller)
{
  static _Thread_local bool within;     /* backtrace can allocate */
  enum module_caller found = CALLER_MODULE;
  bool is_caller = false;
  void *frames[FRAMES];
  int n;

  if (!wanted)
    return CALLER_PROGRAM;
  if (within || module.end == 0)
    return CALLER_OTHER;
  if (is_in (&module, caller))
    return CALLER_MODULE;
  within = true;
  n = backtrace (frames, FRAMES);
  within = false;
  for (int i = 0; i < n; i++) {
    if (is_in (&module, frames[i]))
      return found;
    for (size_t j = 0; j < nr_others; j++)
      if (is_in (&others[j], frames[i]))
        return CALLER_OTHER;
    /* The first ones are of this library. */
    is_caller |= frames[i] == caller;
    if (is_caller && is_in (&program, frames[i]))
      found = CALLER_NBDKIT;
    else if (is_caller && found == CALLER_MODULE && !is_in (&libc, frames[i]))
      found = CALLER_LIBRARY;
  }
  return CALLER_OTHER;
}

/* ---- What it does not free ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A hash table, whose entries stay where they are.  P is NULL in one that was
 * never used, and FREED in one whose memory was freed.  LOCK protects it.
 */
static struct memory {
  void *p;
  void *frames[FRAMES];
} memory[MEMORY];

#define FREED ((void *) 1)

static size_t
first_place (const void *p)
{
  return ((uintptr_t) p >> 4) * 2654435761u % MEMORY;
}

void
module_allocated (void *p, const void *caller)
{
  struct memory *place;
  size_t at;

  if (!wanted || !p || module_of (caller) != CALLER_MODULE)
    return;
  pthread_mutex_lock (&lock);
  for (at = first_place (p); memory[at].p > FREED; at = (at + 1) % MEMORY)
    ;
  place = &memory[at];
  place->p = p;
  memset (place->frames, 0, sizeof place->frames);
  backtrace (place->frames, FRAMES);
  pthread_mutex_unlock (&lock);
}

void
module_freed (void *p)
{
  if (!wanted || !p || module.end == 0)
    return;
  pthread_mutex_lock (&lock);
  for (size_t at = first_place (p); memory[at].p; at = (at + 1) % MEMORY)
    if (memory[at].p == p) {
      memory[at].p = FREED;
      break;
    }
  pthread_mutex_unlock (&lock);
}

/* If nbdkit ends early, it does not unload the module. */
unsigned
module_leaks (char *to, size_t size)
{
  unsigned leaks = 0;
  char *end = to + size;

  for (size_t at = 0; unloaded && at < MEMORY; at++) {
    if (memory[at].p <= FREED)
      continue;
    for (int i = 0; leaks == 0 && i < FRAMES && end - to > 100; i++)
      if (is_in (&module, memory[at].frames[i]))
        to += snprintf (to, 100, "%s+%#tx\n", wanted,
                        (uintptr_t) memory[at].frames[i] - module.start - 1);
    leaks++;
  }
  return leaks;
}

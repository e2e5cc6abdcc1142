/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests: functions that access exports and disks abort if their caller
 * does not hold exports_lock.  ThreadSanitizer does not find every caller
 * without the lock: most callers took and released it shortly before, which
 * orders the threads, so that ThreadSanitizer sees no race.
 *
 * With --wrap, the linker replaces each of these functions by one that checks
 * for the lock first.
 */

#include <config.h>

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash/conn.h"
#include "blkhash/export.h"
#include "blkhash/pass.h"
#include "blkhash/test-locks.h"
#include "blkhash/visibility.h"

#define CHECKED(type, name, params, args)               \
  type __real_##name params;                            \
  type __wrap_##name params;                            \
  type                                                  \
  __wrap_##name params                                  \
  {                                                     \
    assert (locks_holds (&exports_lock));               \
    return __real_##name args;                          \
  }

#define CHECKED_VOID(name, params, args)                \
  void __real_##name params;                            \
  void __wrap_##name params;                            \
  void                                                  \
  __wrap_##name params                                  \
  {                                                     \
    assert (locks_holds (&exports_lock));               \
    __real_##name args;                                 \
  }

CHECKED (bool, conn_is_behind_locked, (const struct conn *conn), (conn))
CHECKED (bool, conn_is_stale_locked, (const struct conn *conn), (conn))

CHECKED (bool, disk_is_durable, (const struct disk *disk), (disk))
CHECKED_VOID (disk_flush_ended,
              (struct disk *disk, struct unflushed *by, bool ok),
              (disk, by, ok))

CHECKED (struct disk *, exports_disk_locked, (const char *name), (name))
CHECKED (struct export *, export_find_locked, (const char *name),
         (name))
CHECKED (const char *, export_why_no_sum_locked, (const struct export *export),
         (export))
CHECKED (bool, export_is_unused_locked, (const struct export *export),
         (export))
CHECKED_VOID (export_catch_up_locked, (struct export *export), (export))
CHECKED_VOID (export_unknown_locked,
              (struct export *export, const char *why), (export, why))
CHECKED_VOID (export_publish_locked,
              (struct export *export, const unsigned char *md, size_t len,
               bool has_manifest), (export, md, len, has_manifest))
CHECKED_VOID (export_set_idle_locked, (struct export *export, bool idle),
              (export, idle))

CHECKED (bool, pass_is_last_locked, (const struct pass *p), (p))

CHECKED_VOID (visibility_open, (struct visibility *v, struct unflushed *u),
              (v, u))
CHECKED_VOID (visibility_close, (struct visibility *v, struct unflushed *u),
              (v, u))
CHECKED (bool, visibility_hidden,
         (struct visibility *v, struct unflushed *u, uint64_t offset,
          uint64_t end, uint64_t *run_end), (v, u, offset, end, run_end))
CHECKED (bool, visibility_own,
         (struct unflushed *u, uint64_t offset, uint64_t end,
          uint64_t *run_end), (u, offset, end, run_end))
CHECKED (bool, visibility_needs_flush, (const struct unflushed *u), (u))
CHECKED_VOID (visibility_flush_begin, (struct unflushed *u), (u))
CHECKED (bool, visibility_flush_end,
         (struct unflushed *u, bool ok,
          void (*fn) (void *opaque, uint64_t offset, uint64_t end),
          void *opaque), (u, ok, fn, opaque))

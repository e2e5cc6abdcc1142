/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests of repair by the verify filter: the plugin's disk, which can
 * be damaged and which checks each write; the repair sources; and a server with
 * a client.
 */

#include <config.h>

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "../lib/common/zero.h"
#include "test-repair-disk.h"
#include "verify/disk.h"
#include "verify/export.h"

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifest[50];
char source_paths[SOURCES][50];
unsigned seed;

uint64_t
any_of (unsigned *s, uint64_t n)
{
  return rand_r (s) % n;
}

uint64_t
any (uint64_t n)
{
  return any_of (&seed, n);
}

/* ---- The plugin ---- */

struct plugin plugin;
unsigned char truth[MAX_BLOCKS * BLOCK];
uint64_t size, blocks;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
bool unreadable[MAX_BLOCKS];
unsigned writes[MAX_BLOCKS], unflushed;
static unsigned bad_writes;
unsigned good_after, empty_after, reads;
int read_error;

enum write_kind write_kind;
int can_write, can_flush, can_fua;

uint64_t
size_of (uint64_t block)
{
  return MIN (size - block * BLOCK, BLOCK);
}

bool
is_good_locked (uint64_t block)
{
  return !unreadable[block] &&
    memcmp (plugin.bytes + block * BLOCK, truth + block * BLOCK,
            size_of (block)) == 0;
}

static int
plugin_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags, int *err)
{
  uint64_t block;
  SCOPED_LOCK (&lock);

  (void) next;
  assert (flags == 0 && len > 0 && offset + len <= plugin.size);
  reads++;
  if (good_after > 0 && --good_after == 0)
    memcpy (plugin.bytes, truth, size);
  for (block = offset / BLOCK; block * BLOCK < MIN (offset + len, size);
       block++)
    if (unreadable[block]) {
      *err = read_error;
      return -1;
    }
  if (empty_after == 0 || --empty_after > 0)
    memcpy (buf, plugin.bytes + offset, len);
  else
    empty_after = 1;
  return 0;
}

static int
plugin_pwrite (nbdkit_next *next, const void *buf, uint32_t len,
               uint64_t offset, uint32_t flags, int *err)
{
  uint64_t block = offset / BLOCK;
  bool fua = flags & NBDKIT_FLAG_FUA;
  SCOPED_LOCK (&lock);

  (void) next;
  if (!can_write || (flags & ~NBDKIT_FLAG_FUA) || (fua && !can_fua) ||
      (fua && can_flush == 1) || len == 0 || block >= blocks ||
      offset + len > block * BLOCK + size_of (block) ||
      len > (plugin.max ? plugin.max : UINT32_MAX) ||
      memcmp (buf, truth + offset, len) != 0)
    bad_writes++;
  if (offset == block * BLOCK) {
    bad_writes += is_good_locked (block);
    writes[block]++;
  }
  unflushed += !fua;
  if (write_kind == WRITE_FAILS) {
    *err = ENOSPC;
    return -1;
  }
  if (write_kind == WRITE_IS_LOST)
    return 0;
  memcpy (plugin.bytes + offset, buf, len);
  if (offset + len == block * BLOCK + size_of (block))
    unreadable[block] = false;
  return 0;
}

static int
plugin_flush (nbdkit_next *next, uint32_t flags, int *err)
{
  SCOPED_LOCK (&lock);

  (void) next;
  bad_writes += flags != 0 || can_flush != 1;
  unflushed = 0;
  if (write_kind != FLUSH_FAILS)
    return 0;
  *err = EIO;
  return -1;
}

static int
plugin_can_write (nbdkit_next *next)
{
  (void) next;
  return can_write;
}

static int
plugin_can_flush (nbdkit_next *next)
{
  (void) next;
  return can_flush;
}

static int
plugin_can_fua (nbdkit_next *next)
{
  (void) next;
  return can_fua;
}

/* ---- The disks ---- */

static char *sum;               /* of the manifest */
bool in_source[SOURCES][MAX_BLOCKS];

void
write_file (const char *path, const void *bytes, size_t len)
{
  FILE *f = fopen (path, "w");

  assert_non_null (f);
  assert_int_equal (fwrite (bytes, 1, len, f), len);
  fclose (f);
}

void
write_manifest (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  blkhash_opts_set_block_size (opts, BLOCK);
  free (sum);
  sum = manifest_of (opts, truth, size, manifest);
  blkhash_opts_free (opts);
}

void
make_truth (uint64_t bytes)
{
  uint64_t i;

  size = bytes;
  blocks = DIV_ROUND_UP (size, BLOCK);
  for (i = 0; i < size; i++)
    truth[i] = rand_r (&seed);
  for (i = 0; i < blocks; i++)
    if (any (6) == 0)
      memset (truth + i * BLOCK, 0, size_of (i));
  plugin_init (&plugin, size);
  memcpy (plugin.bytes, truth, size);
  plugin.next.pread = plugin_pread;
  plugin.next.pwrite = plugin_pwrite;
  plugin.next.flush = plugin_flush;
  plugin.next.can_write = plugin_can_write;
  plugin.next.can_flush = plugin_can_flush;
  plugin.next.can_fua = plugin_can_fua;
  write_manifest ();
  memset (unreadable, 0, sizeof unreadable);
  memset (writes, 0, sizeof writes);
  bad_writes = unflushed = 0;
  write_kind = WRITE;
  can_write = can_flush = 1;
  can_fua = NBDKIT_FUA_EMULATE;
  good_after = empty_after = 0;
  read_error = ENODATA;
  reads = 0;
  plugin.multi_conn = 1;
}

/* ---- The server ---- */

bool read_zeros, is_writing;
const char *limit;
unsigned nr_sources;

#define SOURCE(i) \
  nr_sources > i ? "blkhash-verify-repair" : NULL, source_paths[i]
#define START(...) \
  start (__VA_ARGS__, \
         "blkhash-verify-manifest", manifest, "blkhash-verify-sum", sum, \
         "blkhash-verify-zero", read_zeros ? "read" : "skip", \
         SOURCE (0), SOURCE (1), SOURCE (2), NULL)

void
start_server (void)
{
  int r = is_writing ? START ("blkhash-verify-repair-write", "true",
                              "blkhash-verify-repair-limit", limit)
                     : START ("blkhash-verify-repair-write", "false");

  assert_int_equal (r, 0);
  open_readonly = !is_writing;
}

void
stop_server (void)
{
  stop ();
  open_readonly = 1;
  assert_int_equal (bad_writes, 0);
  plugin_destroy (&plugin);
  free (sum);
  sum = NULL;
}

void *
connect_client (void)
{
  void *handle = open_export ("");

  assert (handle);
  return filter->prepare (&plugin.next, handle, 0) == 0 ? handle : NULL;
}

void *
start_client (void)
{
  void *handle;

  start_server ();
  handle = connect_client ();
  assert_non_null (handle);
  return handle;
}

void
end_client (void *handle)
{
  filter->close (handle);
  stop_server ();
}

int
read_range (void *handle, void *buf, uint64_t len, uint64_t offset)
{
  int err = 0, r = filter->pread (&plugin.next, handle, buf, len, offset, 0,
                                  &err);

  assert (r == 0 || err > 0);
  return r;
}

bool
is_served (uint64_t block)
{
  bool zero = is_zero (truth + block * BLOCK, size_of (block)), have = zero;
  unsigned i;

  if (zero && !read_zeros)
    return true;
  for (i = 0; i < nr_sources; i++)
    have |= in_source[i][block];
  {
    SCOPED_LOCK (&lock);

    return is_good_locked (block) || (have && (nr_sources > 0 || is_writing));
  }
}

const char *
check_read_at (void *handle, uint64_t len, uint64_t offset)
{
  unsigned char *buf = malloc (len);
  bool served = true;
  const char *wrong = NULL;
  uint64_t block;
  int r;

  for (block = offset / BLOCK; block * BLOCK < offset + len; block++)
    served &= is_served (block);
  r = read_range (handle, buf, len, offset);
  if (r == -1 && served)
    wrong = "a request failed";
  if (r == 0 && !served)
    wrong = "a request did not fail";
  if (r == 0 && memcmp (buf, truth + offset, len) != 0)
    wrong = "wrong content";
  free (buf);
  return wrong;
}

struct tally *
the_tally (void)
{
  return &exports_first_locked ()->disk->tally;
}

enum block_state
state_of (uint64_t block)
{
  enum block_state state = BLOCK_NOT_READ;

  tally_get_run (the_tally (), block, &state);
  return state;
}

void
make_bad_disk (void)
{
  unsigned i;

  make_truth (3 * BLOCK);
  for (i = 0; i < 3; i++)
    truth[i * BLOCK] = i + 1;
  write_manifest ();
  memcpy (plugin.bytes, truth, size);
  plugin.bytes[BLOCK] = 55;
  nr_sources = 1;
  write_file (source_paths[0], truth, size);
  memset (in_source, true, sizeof in_source);
  read_zeros = false;
  is_writing = true;
  limit = "100%";
}

/* ---- The files ---- */

int
set_up (void **state)
{
  unsigned i;

  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (manifest, "%s/manifest", directory);
  for (i = 0; i < SOURCES; i++)
    sprintf (source_paths[i], "%s/source%u", directory, i);
  return 0;
}

int
tear_down (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < SOURCES; i++)
    unlink (source_paths[i]);
  unlink (manifest);
  return rmdir (directory);
}

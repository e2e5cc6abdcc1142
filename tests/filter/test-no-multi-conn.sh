#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Without multi-conn a connection may see the content before another one's
# write, so its reads prove nothing then.

. "$(dirname "$0")/../filter-functions.sh"
requires_nbdkit cc
requires cc --version

# A connection sees the disk as it was when the connection was opened, and its
# own writes.  The connection that was opened last sees all.
cat > "$dir/stale.c" << 'END'
#include <stdlib.h>
#include <string.h>
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>
#define SIZE (1 << 20)
#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS
static char disk[SIZE];
static void *stale_open (int readonly)
{
  char *seen = malloc (SIZE);
  memcpy (seen, disk, SIZE);
  return seen;
}
static int64_t stale_get_size (void *h) { return SIZE; }
static int
stale_pread (void *h, void *buf, uint32_t count, uint64_t offset,
             uint32_t flags)
{
  memcpy (buf, (char *) h + offset, count);
  return 0;
}
static int
stale_pwrite (void *h, const void *buf, uint32_t count, uint64_t offset,
             uint32_t flags)
{
  memcpy ((char *) h + offset, buf, count);
  memcpy (disk + offset, buf, count);
  return 0;
}
/* What was trimmed is not what it was, and not zero either. */
static int
stale_trim (void *h, uint32_t count, uint64_t offset, uint32_t flags)
{
  memset ((char *) h + offset, 't', count);
  memset (disk + offset, 't', count);
  return 0;
}
static int stale_flush (void *h, uint32_t flags)
{
  memcpy (h, disk, SIZE);
  return 0;
}
static struct nbdkit_plugin plugin = {
  .name = "stale", .open = stale_open, .close = free,
  .get_size = stale_get_size, .pread = stale_pread, .pwrite = stale_pwrite,
  .flush = stale_flush, .trim = stale_trim,
};
NBDKIT_REGISTER_PLUGIN (plugin)
END

serve cc "$dir/stale.c" blkhash-file="$sums" EXTRA_CFLAGS="-w"
client "" 'assert not h.can_multi_conn()
new = connect("")
new.pwrite(b"x" * 65536, 0)
new.pwrite(b"y" * 10, 70000)
new.trim(65536, 131072)
old = h.pread(1 << 20, 0)
assert old == bytes(1 << 20), "the old connection sees all"
h.block_status(1 << 20, 0, lambda *_: 0)
h.shutdown()
new.shutdown()
h = connect("")
open("'"$dir"'/disk", "wb").write(h.pread(1 << 20, 0))'
wait_for_sum "$dir/disk"
stop

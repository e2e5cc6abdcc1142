/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which connections may write repaired blocks to the plugin.
 *
 * If the plugin has no multi-conn, only one connection at a time may write,
 * because other connections might not see its writes.
 *
 * The filter learns whether the plugin can write only when a client connects.
 * The plugin is not opened before that, because it may need the export name of
 * the client: the file plugin of nbdkit 1.32 crashes without one.  So when
 * nbdkit starts, only the files that parameters of the plugin and of other
 * filters name are checked.
 */

#include <config.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/cleanup.h"
#include "../lib/digest/digest.h"
#include "config-files.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"
#include "verify/source.h"
#include "verify/writer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct source *writer; /* of the connection that may write even
                                     * without multi-conn; protected by lock */

int
writer_check (void)
{
  const struct disk *disk;

  if (!verify_params.repair_write)
    return 0;
  disk = exports_first_locked ()->disk; /* there are no clients yet */
  if (digest_is_cryptographic (disk->digest))
    return config_files_check_disks ("blkhash-verify-repair-write");
  nbdkit_error ("blkhash-verify-repair-write: the digest of %s detects only "
                "accidental changes", disk->path);
  return -1;
}

static void
choose_writer (struct source *source, bool multi_conn)
{
  SCOPED_LOCK (&lock);

  if (!writer)
    writer = source;
  source->may_write = multi_conn || writer == source;
}

void
writer_close (struct source *source)
{
  SCOPED_LOCK (&lock);

  if (writer == source)
    writer = NULL;
}

int
writer_prepare (const struct disk *disk, struct source *source,
                nbdkit_next *next)
{
  int can_write = next->can_write (next);
  int multi_conn = next->can_multi_conn (next);

  /* nbdkit caches these values, so later calls cannot fail. */
  if (can_write == -1 || multi_conn == -1 || next->can_flush (next) == -1 ||
      next->can_fua (next) == -1)
    return -1;
  if (!can_write) {
    nbdkit_error ("blkhash-verify-repair-write: the plugin cannot write");
    return -1;
  }
  if (disk->block_size % source->min != 0) {
    nbdkit_error ("blkhash-verify-repair-write: the block size of the "
                  "manifest, %" PRIu32 " bytes, is not a multiple of the "
                  "minimum block size of the plugin, %" PRIu32 " bytes",
                  disk->block_size, source->min);
    return -1;
  }
  choose_writer (source, multi_conn);
  return 0;
}

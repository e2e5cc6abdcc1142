/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use, by name, each with its leaf table.
 *
 * An export is created when its first client joins.  It is kept until the
 * server ends, because later clients add to its leaf table, and the report
 * contains its line.  The threads of all connections call these functions.
 *
 * With blkhash-update, the leaf table of the first export that is used begins
 * with the leaves of the manifest that an earlier server wrote, the baseline.
 * The manifest is loaded, and its sum is verified, before the first connection.
 * The other exports have the same disk, but begin with an empty table.  The
 * baseline is valid until the first change begins, or a read contradicts a leaf
 * table (see observe.h).  Until then the manifest file is left as it is.
 * Before the change, or at the end of that read, it is emptied and synced, like
 * the manifest of a sum that is withdrawn.  So a manifest that is in the file
 * always describes the disk as this filter left it.
 */

#ifndef NBDKIT_BLKHASH_EXPORT_H
#define NBDKIT_BLKHASH_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash/disk.h"
#include "blkhash/exports-lock.h"
#include "blkhash/report.h"

struct blkhash_leaves;

/* Load the manifest, after the output files were opened, and before they are
 * emptied.  Returns 0, or -1 after nbdkit_error.  There is no baseline without
 * blkhash-update, or if the manifest file is empty.
 */
int baseline_load (void);

/* Called after the server has gone to the background. */
void baseline_after_fork (void);

/* Called with exports_lock held, or before the first connection. */
bool baseline_is_valid_locked (void);

/* Clients choose names, and most plugins accept any name.  This limit prevents
 * clients from filling the memory with exports.
 */
#define EXPORTS_MAX 10000

struct export {
  struct export *next;          /* in the order of creation */
  char *name;
  struct report_line line;      /* in the report; its text and WAS_SET change
                                 * only under exports_lock */

  /* All members below are protected by exports_lock.  The leaf table has its
   * own lock, and is replaced only while no connection uses the table.
   */
  struct disk *disk;
  struct disk own_disk;         /* if exports are distinct disks */
  uint64_t log_seen;            /* position in the disk's log of changes: all
                                 * earlier changes were applied to LEAVES */
  struct blkhash_leaves *leaves; /* the leaf table: the digest of each block
                                 * whose content is known */
  uint64_t size;                /* bytes */
  struct evidence *evidence;    /* of exports of this size, in disk->claims */
  const char *broken;           /* why there can be no sum until the table is
                                 * reset, or NULL */
  bool baseline;                /* the table began with the leaves of a
                                 * manifest, the baseline */
  char mismatch[96];            /* BROKEN points to this if content that was
                                 * read differs from the baseline */
  unsigned conns;               /* connections that are CONN_JOINED */
  uint64_t joins;               /* connections that ever joined */
  uint64_t newest;              /* highest conn->number of these connections */
  bool finishing;               /* between conn_disconnect and conn_finish_end
                                 * of its last connection */
  bool published;               /* the report has its sum */
  struct export *next_published, **link_published; /* in disk->published */
  bool modified;                /* by clients, since the last sum */
  uint64_t bytes_read;          /* by clients, since the last sum */
};

/* Store a copy of NAME as the name that the plugin gives the default export.
 * An empty NAME is ignored.
 */
void exports_set_default (const char *name);

/* Return the export NAME.  If no client has used it yet, export_find_locked
 * returns NULL, and export_get_locked creates it, or returns NULL with errno:
 * ENOMEM, or ENOSPC if there already are EXPORTS_MAX exports.
 */
struct export *export_find_locked (const char *name);
struct export *export_get_locked (const char *name);

/* Returns the disk of the export NAME.  Returns NULL if exports are distinct
 * disks and no client has used this one yet.
 */
struct disk *exports_disk_locked (const char *name);

/* Called when a connection joins.  SIZE is the size that the plugin reported to
 * this connection.  NEWER is set if the connection was prepared after all
 * others that have joined the export.  If the export is new, is broken or has
 * another size, its leaf table is reset, but only if NEWER is set and the
 * export is not in use.  If the export has another size and the table is not
 * reset, the export becomes broken.  Returns true if a sum was withdrawn.
 */
bool export_set_size_locked (struct export *export, uint64_t size, bool newer);

/* Check the SIZE of the disk that a connection opens.  Takes exports_lock.
 * Returns 0, or -1 after nbdkit_error if a valid baseline has another size.
 */
int exports_check_size (uint64_t size);

/* Forget the content of the export, but not the baseline. */
void export_forget_locked (struct export *export);

/* Called at each request of a client with TLS, or without.  If clients of both
 * kinds have used DISK now, its sums are withdrawn, and there are no more.  If
 * clients of the other kind only connected, their sums are withdrawn, and the
 * content that was found when they disconnected is forgotten.  Returns true if
 * a sum was withdrawn.
 */
bool exports_use_locked (struct disk *disk, bool tls);

/* Set whether the export is idle, which means that no connection uses it.
 * Partial blocks of idle exports are evicted before those of exports in use
 * (see lib/leaves/leaves.h).
 */
void export_set_idle_locked (struct export *export, bool idle);

/* Invalidate the ranges of the leaf table that were changed through other
 * exports.
 */
void export_catch_up_locked (struct export *export);

/* Publish the sum MD of LEN bytes; see report_sum.  If there is no memory for
 * the line, the report says so, and the sum is computed again when the next
 * client disconnects, or when the server ends.
 */
void export_publish_locked (struct export *export,
                            const unsigned char *md, size_t len,
                            bool has_manifest);

/* Reasons why there is no sum. */
#define EXPORT_NOT_AUDITED "the manifest was not audited"
#define EXPORT_NOT_FLUSHED "the changes cannot be flushed"
#define EXPORT_MIXED "clients with and without TLS use it"

/* Returns true if clients neither read nor changed the export, and it never had
 * a line in the report.
 */
bool export_is_unused_locked (const struct export *export);

/* Returns NULL if the export can have a sum once all of it has been read, or
 * the reason why it cannot.
 */
const char *export_why_no_sum_locked (const struct export *export);

/* Write the reason why the export has no sum while MISSING bytes are missing.
 */
#define EXPORT_WHY_SIZE 128     /* bytes */
void export_why_missing_locked (const struct export *export, uint64_t missing,
                                char why[EXPORT_WHY_SIZE]);

/* Report that there is no sum, for the reason WHY. */
void export_unknown_locked (struct export *export, const char *why);

/* Withdraw all sums of DISK, and the baseline.  For each export whose sum is
 * withdrawn, except BY, report the reason WHY; BY can be NULL.  Returns true if
 * anything was withdrawn.  The time depends on the number of exports with a
 * sum, not on the number of all exports.
 */
bool exports_withdraw_locked (struct disk *disk, struct export *by,
                              const char *why);

/* A claim was wrong, see claims.h: content that is known by claims may be wrong
 * too.  Invalidate all exports of the disk of BY, which found it, withdraw
 * their sums, and report the reason.
 */
void exports_refute_claims_locked (struct export *by);

/* Returns true if an export of DISK has a sum, or the baseline is valid.  If
 * so, a change of DISK must call exports_withdraw_locked.
 */
bool exports_have_sum_locked (const struct disk *disk);

/* Called if blocks that were read, the LEN bytes at OFFSET, differ from the
 * table.  If the table began with a baseline, and one of these blocks was not
 * changed since the server started, other blocks of the baseline may be wrong
 * too: the export becomes broken.
 */
void export_check_baseline_locked (struct export *export, uint64_t offset,
                                   uint64_t len);

/* Call FN with each export, without holding exports_lock.  This function and
 * exports_free may be called only after the last connection has ended.
 */
void exports_foreach (void (*fn) (struct export *export));
void exports_free (void);

#endif /* NBDKIT_BLKHASH_EXPORT_H */

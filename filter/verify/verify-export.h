/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exports that clients use.  An export is a disk with its name.
 * Thread-safe.
 *
 * With blkhash-verify-manifest there is one export, for all names, which is
 * opened at the start.
 *
 * With blkhash-verify-manifest-dir, each name has its own disk.  Its manifest
 * is opened when the first client of the export connects, and closed when the
 * last one has disconnected.  It is read after the plugin's disk was opened,
 * whose size limits how many blocks can be hashed.  Other clients of the export
 * wait meanwhile; those of other exports do not.  If the client whose thread
 * reads it is gone, a client that waits begins again.
 *
 * If the server writes a result or a status, the export, with the states of its
 * blocks, is kept after that.  The states remain if the same disk is opened
 * again, until the client is connected (see verify_export_begin_client).  A
 * stopped export is kept even without a result or status, so that it stays
 * stopped.
 *
 * Clients can use only names for which there is a manifest.  The number of open
 * manifests and the number of kept exports are limited.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_EXPORT_H
#define NBDKIT_BLKHASH_VERIFY_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct verify_disk;

/* ---- The list of sums ----
 *
 * The list of blkhash-verify-sums: the sums of the manifests, by the names of
 * exports.  Exported for unit tests.
 */

/* Read the list PATH, before the server forks.  Returns 0, or -1 after
 * nbdkit_error.
 */
int sum_list_load (const char *path);
void sum_list_free (void);

/* Returns the sum of NAME, with its tag, or NULL if there is none. */
const char *sum_list_find (const char *name);

/* ---- Exports ---- */

/* Protects the list of exports, their members USERS, CLIENTS, WAITING,
 * HAS_PASS, PLUGIN_SIZE and CONNECTED, and all members of an export without
 * users, which are replaced when it is opened again.  A thread that holds this
 * lock can take the lock of a tally or of the block cache.
 */
extern pthread_mutex_t verify_exports_lock;

struct verify_export {
  struct verify_export *next;
  bool is_listed;               /* in the list of exports; constant while the
                                 * export has users */
  char *name;                   /* name in the result and the status; with
                                 * blkhash-verify-manifest-dir, the name that
                                 * clients ask for */
  char *path;                   /* of the manifest */
  struct verify_disk *disk;     /* not replaced while there are users */
  unsigned users;               /* connections */
  unsigned clients;             /* clients that are connected: between
                                 * verify_export_begin_client and
                                 * verify_export_end_client */
  bool has_pass;                /* between verify_export_begin_pass and
                                 * verify_export_end_pass */
  unsigned waiting;             /* clients that wait for the end of the pass */
  uint64_t plugin_size;         /* size of the plugin's disk, bytes, which the
                                 * last client saw; 0 before */
  char *line;                   /* made when the manifest was read, written to
                                 * the result file once all of the disk is
                                 * verified; NULL without outputs */
  bool connected;               /* the last client saw a disk whose size is
                                 * that of the manifest, or can be truncated to
                                 * it */
};

/* Open the manifest, or the directory of manifests and the list of their
 * sums, before the server forks.  Returns 0, or -1 after nbdkit_error.
 */
int verify_exports_open (void);
void verify_exports_free (void);

/* Returns the export for a client that asks for NAME, or NULL after
 * nbdkit_error: one that is in use, or one with an open manifest of which only
 * the header was read.  The caller calls verify_export_load before any request,
 * and releases the export with verify_export_release.
 */
struct verify_export *verify_export_acquire (const char *name);

/* If only the header of the manifest was read, read all of it; or replace
 * *EXPORT if meanwhile another thread has done that for the same name.  Then
 * the manifest can be a different one, of another size.  Returns 0, or -1 after
 * nbdkit_error; *EXPORT must be released even then.
 */
int verify_export_load (struct verify_export **export);
void verify_export_release (struct verify_export *export);

/* The connection of a client is prepared: the plugin's disk has SIZE bytes,
 * which is right.  The states of the blocks are those of the disk that the
 * plugin opened for earlier clients, and it can be another one now.  So the
 * states begin anew, and no block is cached, if there is no other client, or if
 * the disk of the last one had another size.  Waits until there is no pass.
 */
void verify_export_begin_client (struct verify_export *export, uint64_t size);

/* The same for a client that is refused, because SIZE is wrong. */
void verify_export_refuse_client (struct verify_export *export, uint64_t size);

/* The client has disconnected, and makes no more requests. */
void verify_export_end_client (struct verify_export *export);

/* Before and after a pass: a connection whose client has disconnected reads the
 * disk that it has opened.  verify_export_begin_pass returns false if there are
 * other clients, or another pass.  The pass must end soon when
 * verify_export_must_end_pass returns true, because a client waits.
 */
bool verify_export_begin_pass (struct verify_export *export);
bool verify_export_must_end_pass (struct verify_export *export);
void verify_export_end_pass (struct verify_export *export);

/* Returns the first export of the list.  The lock is not needed before the
 * first client connects, or after the last client has disconnected.
 */
struct verify_export *verify_exports_first_locked (void);

/* Returns how often an export was opened with blkhash-verify-manifest-dir. */
uint64_t verify_exports_generation_locked (void);

#endif /* NBDKIT_BLKHASH_VERIFY_EXPORT_H */

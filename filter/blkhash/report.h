/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The report has a line for each export that has a result.  It is written to
 * the result file, or to stderr without blkhash-file.
 *
 * A line is first set in memory.  This needs no I/O, so the caller may hold
 * exports_lock.  Later a thread writes the line without holding any lock.  One
 * write includes all lines that were set until then.  Thread-safe.
 *
 * Each call that sets a line makes a new version of the report, under the lock.
 * One thread at a time writes, with the lock released, and it writes the latest
 * version.  Meanwhile other threads that need a version in the file wait.  So
 * versions reach the file in order, and threads that wait share a write.
 *
 * A change by a client is not acknowledged while a stale sum can still come
 * back after a crash:
 *
 * - Before a request that modifies the disk calls the plugin, it withdraws,
 *   under exports_lock, the sums that will be wrong.  Sums are published under
 *   the same lock, and only if no change is in flight.  So no sum is published
 *   between the withdrawal and the end of the change.
 * - Then, still before it calls the plugin, the request waits in
 *   report_await_withdrawals until the withdrawals by all threads so far are
 *   written to the files, and synced (see output-file.h).
 * - A prefetch can make sums wrong too: a cache below may store the old content
 *   of a trimmed range (see modify.h).  The prefetch withdraws these sums after
 *   it has called the plugin, and waits before it is acknowledged.
 * - The manifest is published and withdrawn with the sum of its leaves.  The
 *   manifest was written earlier (see manifest-save.h), and is only renamed
 *   here.
 * - If writing fails, the file is emptied or removed.  If that fails too, an
 *   error is logged and the request continues: hashing must not fail requests.
 */

#ifndef NBDKIT_BLKHASH_REPORT_H
#define NBDKIT_BLKHASH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#define REPORT_MD_SIZE 64       /* bytes of the longest sum */

/* The line of one export.  If all members are zero, there is no line.
 * report_lock, in report.c, protects all members.  TEXT and WAS_SET change only
 * under exports_lock, too, so they can be read under either lock.
 */
struct report_line {
  struct report_line *next;     /* in the order in which they were first set */
  char *text;                   /* with its newline, or NULL: no line */
  bool is_sum;
  unsigned char md[REPORT_MD_SIZE]; /* the sum, padded with zeros */
  bool was_set;                 /* the line was ever set */
  bool printed;                 /* without blkhash-file: it is on stderr */
};

/* Keep the manifest of an earlier server in the manifest file until
 * report_withdraw is called with LINE, or report_sum sets a new manifest or
 * finds that two sums differ.  LINE stands for this manifest, and has no text.
 * Called before the first connection.
 */
void report_keep_manifest (struct report_line *line);

/* Set the line of the export NAME to the sum MD of LEN bytes.  HAS_MANIFEST is
 * set if manifest_fold has saved the leaves of the sum in its new file.  Then
 * the caller must not call manifest_end before report_write has returned.
 * Returns false if there was no memory; then the export no longer has a line.
 */
bool report_sum (struct report_line *line, const char *name,
                 const unsigned char *md, size_t len, bool has_manifest);

/* Set the line to the reason WHY there is no sum.  If there is no memory, the
 * line is removed.
 */
void report_unknown (struct report_line *line, const char *name,
                     const char *why);

/* Remove the line, because it is no longer valid. */
void report_withdraw (struct report_line *line);

/* Returns true if no export has a line. */
bool report_is_empty (void);

/* Write the report.  When this returns, all lines that any thread set before
 * the call are in the result file, and the manifest file is up to date.
 */
void report_write (void);

/* When this returns, all sums that were withdrawn before the call are gone from
 * the result file, and their leaves from the manifest file.  They do not come
 * back after a crash.  Takes no lock if they are already gone.
 */
void report_await_withdrawals (void);

#endif /* NBDKIT_BLKHASH_REPORT_H */

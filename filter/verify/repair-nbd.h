/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A repair source that is an NBD export.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_REPAIR_NBD_H
#define NBDKIT_BLKHASH_VERIFY_REPAIR_NBD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct repair_nbd;

#ifdef HAVE_LIBNBD
/* Does not connect yet.  URI must remain valid until repair_nbd_free.  Returns
 * NULL after nbdkit_error.
 */
struct repair_nbd *repair_nbd_new (const char *uri);

/* NBD may be NULL.  No other thread may use it any more. */
void repair_nbd_free (struct repair_nbd *nbd);

/* Read LEN bytes at OFFSET, and connect first if there is no connection.
 * *WAITED is how long the client's request has waited for this server so far,
 * in nanoseconds; the wait for this read is added to it.  Returns false if the
 * server fails, is suspended or does not reply in time; if *WAITED has reached
 * the timeout, or other threads use the connection for so long; if there is no
 * memory; if the export ends before OFFSET + LEN, which sets *ENDS; or if the
 * client or nbdkit is ending, which sets *STOPPED.  Thread-safe.
 */
bool repair_nbd_read (struct repair_nbd *nbd, void *buf, size_t len,
                      uint64_t offset, uint64_t *waited, bool *stopped,
                      bool *ends);
#else
/* Without libnbd, params.c accepts no URI, so there is never a server. */
static inline struct repair_nbd *
repair_nbd_new (const char *uri)
{
  (void) uri;
  return NULL;
}

static inline void
repair_nbd_free (struct repair_nbd *nbd)
{
  (void) nbd;
}

static inline bool
repair_nbd_read (struct repair_nbd *nbd, void *buf, size_t len,
                 uint64_t offset, uint64_t *waited, bool *stopped, bool *ends)
{
  (void) nbd; (void) buf; (void) len; (void) offset; (void) waited;
  (void) stopped; (void) ends;
  return false;
}
#endif

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_NBD_H */

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
/* URI must live as long.  Does not connect.  Returns NULL after nbdkit_error.
 */
struct repair_nbd *repair_nbd_new (const char *uri);

/* No thread may use NBD, which can be NULL. */
void repair_nbd_free (struct repair_nbd *nbd);

/* Read LEN bytes at OFFSET, by a connection that is made when it is needed.
 * *WAITED, in nanoseconds, is how long the client's request has waited for this
 * server; the wait is added.  Returns false if the export ends before, or the
 * server fails or does not reply in time, or if the client or nbdkit ends: then
 * *STOPPED is set.  Thread-safe.
 */
bool repair_nbd_read (struct repair_nbd *nbd, void *buf, size_t len,
                      uint64_t offset, uint64_t *waited, bool *stopped);
#else
/* params.c accepts no URI. */
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
                 uint64_t offset, uint64_t *waited, bool *stopped)
{
  (void) nbd; (void) buf; (void) len; (void) offset; (void) waited;
  (void) stopped;
  return false;
}
#endif

#endif /* NBDKIT_BLKHASH_VERIFY_REPAIR_NBD_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Flush a connection whose client has disconnected.
 */

#include <config.h>

#include "../lib/common/util.h"
#include "conn.h"
#include "flush.h"
#include "params.h"
#include "pass.h"

bool
flush_conn (nbdkit_next *next, struct conn *conn)
{
  struct flush flush;
  int err, r;

  if (next->can_flush (next) != 1)
    return false;
  conn_flush_begin (conn, &flush);
  r = next->flush (next, 0, &err);
  conn_flush_end (conn, &flush, r == 0);
  return r == 0;
}

bool
flush_to_see_changes (const struct pass *p)
{
  {
    SCOPED_LOCK (&exports_lock);

    if (!conn_is_behind_locked (p->conn))
      return true;
  }
  if (flush_conn (p->next, p->conn))
    return true;
  /* If the plugin has multi-conn but cannot flush, reads are still possible:
   * visibility.c hides the blocks whose changes this connection might not see.
   */
  return p->conn->multi_conn && p->next->can_flush (p->next) == 0;
}

static bool
is_durable (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  return disk_is_durable (p->export->disk);
}

bool
flush_to_update (const struct pass *p)
{
  if (!params.update || p->next->can_flush (p->next) == 0 || is_durable (p))
    return true;
  return flush_conn (p->next, p->conn) && is_durable (p);
}

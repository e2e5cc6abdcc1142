/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dirty bitmaps of qemu, which an NBD server exports: see nbd.h.
 *
 * The bitmap is read over the same connection as the data: qemu-nbd often
 * accepts only one connection, and exits after it.  A bitmap that is in use
 * elsewhere, or that was in use when its host crashed, can lack changes.  qemu
 * does not export such a bitmap.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "util/error.h"
#include "util/ranges.h"

#define PREFIX "qemu:dirty-bitmap:"
#define DIRTY 1                 /* a flag of an extent */
#define MAX_STATUS (UINT32_C (1) << 31) /* bytes; see block-status.c */

/* ---- Connecting ---- */

/* The bitmaps that the server lists, for an error. */
struct offered {
  char text[512];               /* "'b0', 'b1'" */
  bool more;                    /* the text is incomplete */
};

static int
store_offered (void *opaque, const char *context)
{
  struct offered *offered = opaque;
  size_t used = strlen (offered->text), room = sizeof offered->text - used;

  if (strncmp (context, PREFIX, strlen (PREFIX)) != 0)
    return 0;
  context += strlen (PREFIX);
  if (offered->more || strlen (context) + sizeof ", ''" > room)
    offered->more = true;
  else
    snprintf (offered->text + used, room, "%s'%s'", used > 0 ? ", " : "",
              context);
  return 0;
}

/* Negotiate CONTEXT and, if EXTENTS is set, block status. */
static int
negotiate (struct nbd_handle *nbd, const char *context, bool extents,
           struct offered *offered)
{
  /* Ignore an error: not every server supports the list. */
  if (nbd_aio_is_negotiating (nbd) == 1)
    nbd_opt_list_meta_context (nbd, (nbd_context_callback) {
                                 .callback = store_offered,
                                 .user_data = offered,
                               });
  /* Negotiation is over if the server does not support fixed newstyle, and so
   * has no bitmaps, or if the connection was lost while the server listed them.
   */
  if (nbd_aio_is_negotiating (nbd) != 1)
    return nbd_aio_is_ready (nbd) == 1 ? 0 : -1;
  if (nbd_add_meta_context (nbd, context) == -1 ||
      (extents &&
       nbd_add_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) == -1))
    return -1;
  return nbd_opt_go (nbd);
}

static int
no_bitmap (const char *name, const struct offered *offered,
           struct error *error)
{
  if (*offered->text)
    return error_set (error, "the server has no dirty bitmap '%s'; it has %s%s",
                      name, offered->text, offered->more ? ", ..." : "");
  return error_set (error, "the server has no dirty bitmap '%s': qemu-nbd "
                    "offers it with -B, unless it is in use or inconsistent",
                    name);
}

int
nbd_bitmap_connect (struct nbd_handle *nbd, const char *uri, const char *name,
                    bool extents, struct error *error)
{
  struct offered offered = { .more = false };
  char *context;
  int r;

  if (asprintf (&context, PREFIX "%s", name) == -1)
    return error_set (error, "out of memory");
  if (nbd_set_opt_mode (nbd, true) == -1 || nbd_connect_uri (nbd, uri) == -1 ||
      negotiate (nbd, context, extents, &offered) == -1)
    r = error_set (error, "cannot connect: %s", nbd_error_text ());
  else if (nbd_can_meta_context (nbd, context) != 1)
    r = no_bitmap (name, &offered, error);
  else
    r = 0;
  free (context);
  return r;
}

/* ---- Reading ---- */

struct bitmap {
  struct nbd_handle *nbd;
  const char *context;
  uint64_t size;                /* size of the image, bytes */
  uint64_t offset;              /* end of the status received so far */
  unsigned replies;             /* number of replies to the current request;
                                 * more than one is an error */
  struct ranges *ranges;
};

/* Add the dirty extents of a reply.  Returns 0, EPROTO if the reply is invalid,
 * or ENOMEM.
 */
static int
add_extents (struct bitmap *bitmap, const uint32_t *entries, size_t count)
{
  int err = bitmap->replies++ > 0 || count == 0 ? EPROTO : 0;

  for (; count > 0 && err == 0; count--, entries += 2) {
    uint64_t left = bitmap->size - bitmap->offset;
    uint64_t len = entries[0] < left ? entries[0] : left;

    if (entries[0] == 0)
      err = EPROTO;
    else if (entries[1] & DIRTY)
      err = ranges_add (bitmap->ranges, bitmap->offset, len);
    bitmap->offset += len;
  }
  return err;
}

static int
store (void *opaque, const char *context, uint64_t offset, uint32_t *entries,
       size_t nr_entries, int *err)
{
  struct bitmap *bitmap = opaque;

  (void) offset;
  if (strcmp (context, bitmap->context) != 0)
    return 0;
  *err = add_extents (bitmap, entries, nr_entries / 2);
  return *err ? -1 : 0;
}

static int
query (struct bitmap *bitmap, uint64_t len, struct error *error)
{
  uint64_t offset = bitmap->offset;

  bitmap->replies = 0;
  if (nbd_block_status (bitmap->nbd, len < MAX_STATUS ? len : MAX_STATUS,
                        offset, (nbd_extent_callback) {
                          .callback = store, .user_data = bitmap,
                        }, 0) == -1)
    return error_set (error, "cannot read the dirty bitmap at offset %" PRIu64
                      ": %s", offset, nbd_error_text ());
  if (bitmap->offset == offset)
    return error_set (error, "the server returned no status of the dirty "
                      "bitmap at offset %" PRIu64, offset);
  return 0;
}

static int
read_all (struct bitmap *bitmap, struct error *error)
{
  int64_t export_size = nbd_handle_size (bitmap->nbd, error);
  int r = 0;

  if (export_size == -1)
    return -1;
  if (export_size < bitmap->size)
    return error_set (error, "the dirty bitmap covers %" PRId64 " bytes, but "
                      "the image has %" PRIu64, export_size, bitmap->size);
  while (r == 0 && bitmap->offset < bitmap->size)
    r = query (bitmap, export_size - bitmap->offset, error);
  return r;
}

int
nbd_bitmap_read (struct nbd_handle *nbd, const char *name, uint64_t size,
                 struct ranges *ranges, struct error *error)
{
  struct bitmap bitmap = { .nbd = nbd, .size = size, .ranges = ranges };
  char *context;
  int r;

  if (asprintf (&context, PREFIX "%s", name) == -1)
    return error_set (error, "out of memory");
  bitmap.context = context;
  r = read_all (&bitmap, error);
  free (context);
  if (r == 0)
    ranges_sort (ranges);
  else
    ranges_free (ranges);
  return r;
}

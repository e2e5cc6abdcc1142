/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libnbd, loaded when it is needed.
 *
 * libnbd needs gnutls, libxml2 and ICU, and to load all of them takes longer
 * than to hash an empty image.  This header replaces <libnbd.h>: the functions
 * have the same names and types, but none may be called before libnbd_load.
 */

#ifndef BLKSUM_LIBNBD_H
#define BLKSUM_LIBNBD_H

#include <stddef.h>

#include <libnbd.h>

/* All functions of libnbd that blksum uses, sorted. */
#define LIBNBD_FUNCTIONS(F) \
  F (add_meta_context) \
  F (aio_block_status) \
  F (aio_connect_uri) \
  F (aio_disconnect) \
  F (aio_get_fd) \
  F (aio_is_connecting) \
  F (aio_is_dead) \
  F (aio_is_negotiating) \
  F (aio_is_ready) \
  F (aio_pread_structured) \
  F (block_status) \
  F (can_meta_context) \
  F (can_multi_conn) \
  F (close) \
  F (connect_socket) \
  F (connect_uri) \
  F (create) \
  F (get_block_size) \
  F (get_errno) \
  F (get_error) \
  F (get_size) \
  F (opt_go) \
  F (opt_list_meta_context) \
  F (poll) \
  F (pread) \
  F (set_opt_mode) \
  F (set_request_structured_replies) \
  F (set_uri_allow_local_file)

struct libnbd {
#define F(name) __typeof__ (nbd_##name) *name;
  LIBNBD_FUNCTIONS (F)
#undef F
};

extern struct libnbd libnbd;

/* Load libnbd, unless it is loaded.  Thread-safe.  Returns 0, or -1 with the
 * reason in REASON, which has room for SIZE bytes.
 */
int libnbd_load (char *reason, size_t size);

/* Returns the last error of libnbd in this thread, without the name of the
 * function; or that the server closed the connection, if libnbd has no error.
 * The text is valid until the next call of libnbd.
 */
const char *nbd_error_text (void);

#define nbd_add_meta_context libnbd.add_meta_context
#define nbd_aio_block_status libnbd.aio_block_status
#define nbd_aio_connect_uri libnbd.aio_connect_uri
#define nbd_aio_disconnect libnbd.aio_disconnect
#define nbd_aio_get_fd libnbd.aio_get_fd
#define nbd_aio_is_connecting libnbd.aio_is_connecting
#define nbd_aio_is_dead libnbd.aio_is_dead
#define nbd_aio_is_negotiating libnbd.aio_is_negotiating
#define nbd_aio_is_ready libnbd.aio_is_ready
#define nbd_aio_pread_structured libnbd.aio_pread_structured
#define nbd_block_status libnbd.block_status
#define nbd_can_meta_context libnbd.can_meta_context
#define nbd_can_multi_conn libnbd.can_multi_conn
#define nbd_close libnbd.close
#define nbd_connect_socket libnbd.connect_socket
#define nbd_connect_uri libnbd.connect_uri
#define nbd_create libnbd.create
#define nbd_get_block_size libnbd.get_block_size
#define nbd_get_errno libnbd.get_errno
#define nbd_get_error libnbd.get_error
#define nbd_get_size libnbd.get_size
#define nbd_opt_go libnbd.opt_go
#define nbd_opt_list_meta_context libnbd.opt_list_meta_context
#define nbd_poll libnbd.poll
#define nbd_pread libnbd.pread
#define nbd_set_opt_mode libnbd.set_opt_mode
#define nbd_set_request_structured_replies \
  libnbd.set_request_structured_replies
#define nbd_set_uri_allow_local_file libnbd.set_uri_allow_local_file

#endif /* BLKSUM_LIBNBD_H */

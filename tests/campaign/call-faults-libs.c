/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The functions of OpenSSL and of libnbd that can fail: see call-faults.c.
 */

#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "call-faults.h"

/* ---- OpenSSL ---- */

COUNTED (EVP_MD_CTX *, EVP_MD_CTX_new, (void), (), NULL)
COUNTED (EVP_MD *, EVP_MD_fetch,
         (OSSL_LIB_CTX *context, const char *algorithm, const char *properties),
         (context, algorithm, properties), NULL)
COUNTED (int, EVP_DigestInit_ex2,
         (EVP_MD_CTX *context, const EVP_MD *type, const OSSL_PARAM *params),
         (context, type, params), 0)
COUNTED (int, EVP_DigestUpdate,
         (EVP_MD_CTX *context, const void *buf, size_t len),
         (context, buf, len), 0)
COUNTED (int, EVP_DigestFinal_ex,
         (EVP_MD_CTX *context, unsigned char *md, unsigned *len),
         (context, md, len), 0)
COUNTED (int, EVP_DigestFinalXOF,
         (EVP_MD_CTX *context, unsigned char *md, size_t len),
         (context, md, len), 0)

/* ---- libnbd ---- */

#ifdef HAVE_LIBNBD
#include <libnbd.h>

static _Thread_local bool failed;       /* the last call of this thread */

static const char *(*real_get_error) (void);

static const char *
get_error (void)
{
  return failed ? "this call fails in a test" : real_get_error ();
}

/* Each function that is replaced, with its parameters.  A callback that has a
 * free function is freed, as libnbd does in each case.
 */
#define H struct nbd_handle *h
#define NBD_FUNCTIONS(N) \
  N (int, add_meta_context, (H, const char *name), (h, name), -1, ) \
  N (int64_t, aio_block_status, \
     (H, uint64_t count, uint64_t offset, nbd_extent_callback extent, \
      nbd_completion_callback completion, uint32_t flags), \
     (h, count, offset, extent, completion, flags), -1, \
     FREE (extent); FREE (completion)) \
  N (int, aio_command_completed, (H, uint64_t cookie), (h, cookie), -1, ) \
  N (int, aio_connect_uri, (H, const char *uri), (h, uri), -1, ) \
  N (int, aio_disconnect, (H, uint32_t flags), (h, flags), -1, ) \
  N (int, aio_get_fd, (H), (h), -1, ) \
  N (int, aio_is_connecting, (H), (h), -1, ) \
  N (int, aio_is_dead, (H), (h), -1, ) \
  N (int, aio_is_negotiating, (H), (h), -1, ) \
  N (int, aio_is_ready, (H), (h), -1, ) \
  N (int64_t, aio_pread, \
     (H, void *buf, size_t count, uint64_t offset, \
      nbd_completion_callback completion, uint32_t flags), \
     (h, buf, count, offset, completion, flags), -1, FREE (completion)) \
  N (int64_t, aio_pread_structured, \
     (H, void *buf, size_t count, uint64_t offset, nbd_chunk_callback chunk, \
      nbd_completion_callback completion, uint32_t flags), \
     (h, buf, count, offset, chunk, completion, flags), -1, \
     FREE (chunk); FREE (completion)) \
  N (int, block_status, \
     (H, uint64_t count, uint64_t offset, nbd_extent_callback extent, \
      uint32_t flags), \
     (h, count, offset, extent, flags), -1, FREE (extent)) \
  N (int, can_meta_context, (H, const char *name), (h, name), -1, ) \
  N (int, can_multi_conn, (H), (h), -1, ) \
  N (int, connect_socket, (H, int fd), (h, fd), -1, ) \
  N (int, connect_uri, (H, const char *uri), (h, uri), -1, ) \
  N (struct nbd_handle *, create, (void), (), NULL, ) \
  N (int64_t, get_block_size, (H, int type), (h, type), -1, ) \
  N (int64_t, get_size, (H), (h), -1, ) \
  N (int, opt_go, (H), (h), -1, ) \
  N (int, opt_list_meta_context, (H, nbd_context_callback context), \
     (h, context), -1, FREE (context)) \
  N (int, poll, (H, int timeout), (h, timeout), -1, ) \
  N (int, pread, (H, void *buf, size_t count, uint64_t offset, uint32_t flags), \
     (h, buf, count, offset, flags), -1, ) \
  N (int, set_opt_mode, (H, bool enable), (h, enable), -1, ) \
  N (int, set_request_structured_replies, (H, bool enable), (h, enable), -1, ) \
  N (int, set_uri_allow_local_file, (H, bool allow), (h, allow), -1, ) \
  N (int, set_uri_allow_transports, (H, uint32_t mask), (h, mask), -1, )

#define FREE(callback) \
  if (callback.free) \
    callback.free (callback.user_data)

#define N(type, name, parameters, arguments, failure, cleanup) \
  static type (*real_##name) parameters; \
  static type \
  counted_##name parameters \
  { \
    failed = FAILS (nbd_##name); \
    if (!failed) \
      return real_##name arguments; \
    cleanup; \
    return failure; \
  }
NBD_FUNCTIONS (N)
#undef N

static const struct {
  const char *name;
  void *counted;
  void **real;
} functions[] = {
#define N(type, name, parameters, arguments, failure, cleanup) \
  { "nbd_" #name, (void *) counted_##name, (void **) &real_##name },
  NBD_FUNCTIONS (N)
#undef N
  { "nbd_get_error", (void *) get_error, (void **) &real_get_error },
};

void *
call_nbd (const char *name, void *real)
{
  for (size_t i = 0; real && i < sizeof functions / sizeof functions[0]; i++)
    if (strcmp (functions[i].name, name) == 0) {
      *functions[i].real = real;
      return functions[i].counted;
    }
  return real;
}

#else

void *
call_nbd (const char *name, void *real)
{
  (void) name;
  return real;
}
#endif

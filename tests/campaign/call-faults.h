/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lets a call of a library function fail: see call-faults.c.
 */

#ifndef CALL_FAULTS_H
#define CALL_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* The functions whose calls are counted, and can fail. */
#define CALL_FUNCTIONS(F) \
  F (malloc) F (calloc) F (realloc) F (posix_memalign) F (library_malloc) \
  F (pthread_create) \
  F (open) F (openat) F (fopen) F (opendir) F (mkostemp) F (mkdir) F (eventfd) \
  F (pipe2) F (dup) F (dup2) F (close) F (fcntl) F (flock) \
  F (read) F (pread) F (preadv2) F (eventfd_read) F (eventfd_write) \
  F (__uflow) F (readdir) F (readlink) \
  F (write) F (pwrite) F (fputs) F (putc) F (puts) F (printf) F (fprintf) F (fwrite) \
  F (fflush) F (fclose) \
  F (fsync) F (fdatasync) \
  F (rename) F (renameat2) F (linkat) F (unlink) F (access) F (stat) F (lstat) \
  F (fstat) F (fstatfs) F (lseek) F (ftruncate) F (ioctl) \
  F (mmap) F (mincore) F (madvise) F (posix_fadvise) \
  F (socket) F (socketpair) F (bind) F (listen) F (connect) F (send) F (recv) \
  F (poll) \
  F (fork) F (execve) F (waitpid) F (waitid) \
  F (getentropy) F (setrlimit) \
  F (EVP_MD_CTX_new) F (EVP_MD_fetch) F (EVP_DigestInit_ex2) \
  F (EVP_DigestUpdate) F (EVP_DigestFinal_ex) F (EVP_DigestFinalXOF) \
  F (nbd_add_meta_context) F (nbd_aio_block_status) \
  F (nbd_aio_command_completed) F (nbd_aio_connect_uri) \
  F (nbd_aio_disconnect) F (nbd_aio_get_fd) F (nbd_aio_is_connecting) \
  F (nbd_aio_is_dead) F (nbd_aio_is_negotiating) F (nbd_aio_is_ready) \
  F (nbd_aio_pread) F (nbd_aio_pread_structured) F (nbd_block_status) \
  F (nbd_can_meta_context) F (nbd_can_multi_conn) F (nbd_connect_socket) \
  F (nbd_connect_uri) F (nbd_create) F (nbd_get_block_size) \
  F (nbd_get_size) F (nbd_opt_go) F (nbd_opt_list_meta_context) F (nbd_poll) \
  F (nbd_pread) F (nbd_set_opt_mode) \
  F (nbd_set_request_structured_replies) F (nbd_set_uri_allow_local_file) \
  F (nbd_set_uri_allow_transports)

enum call_function {
#define F(name) CALL_##name,
  CALL_FUNCTIONS (F)
#undef F
  CALL_COUNT
};

/* Count a call of FUNCTION by the code at CALLER.  Returns true if this call
 * has to fail; then errno is set.
 */
bool call_fails (enum call_function function, const void *caller);

/* CALL_library_malloc is a call of the first four by other libraries than those
 * that the program cannot do without: OpenSSL and libnbd allocate much.
 */
bool call_of_memory_fails (enum call_function function, const void *caller);

#define FAILS(name) call_fails (CALL_##name, __builtin_return_address (0))

#define MEMORY_FAILS(name) \
  call_of_memory_fails (CALL_##name, __builtin_return_address (0))

/* Instead of failing, a call that can transfer a part has to do so: errno is
 * set to this value.
 */
#define SHORT_COUNT 0

/* Returns the function NAME that is behind this library. */
void *call_real (const char *name);

/* If NAME is a function of libnbd whose calls are counted, returns the function
 * to be called instead of REAL; otherwise returns REAL.
 */
void *call_nbd (const char *name, void *real);

/* ---- The calls of one module of nbdkit: call-faults-module.c ---- */

enum module_caller {
  CALLER_PROGRAM,               /* all calls count */
  CALLER_MODULE,                /* this one, or the C library for it */
  CALLER_LIBRARY,               /* another library for it */
  CALLER_NBDKIT,                /* a function of nbdkit that it called */
  CALLER_OTHER                  /* its calls do not count */
};

/* Only calls of the module count in whose file name is NAME; all if it is NULL. */
void module_wanted (const char *name);

/* The dynamic loader has found a function at ADDRESS, or closes a library. */
void module_found (void *handle, const char *name, void *address);
void module_closed (void *handle);

enum module_caller module_of (const void *caller);

/* The code at CALLER has allocated P, or freed it. */
void module_allocated (void *p, const void *caller);
void module_freed (void *p);

/* Returns how many blocks of memory the module has not freed, and prints a
 * backtrace of the first one.
 */
unsigned module_leaks (char *to, size_t size);

/* Defines a function that is counted, and fails with FAILURE. */
#define REAL(name) ((__typeof__ (name) *) real_##name)
#define DECLARE_REAL(name) \
  static void *real_##name; \
  if (!real_##name) \
    real_##name = call_real (#name)
#define COUNTED(type, name, parameters, arguments, failure) \
  type \
  name parameters \
  { \
    DECLARE_REAL (name); \
    if (FAILS (name)) \
      return failure; \
    return REAL (name) arguments; \
  }

#endif /* CALL_FAULTS_H */

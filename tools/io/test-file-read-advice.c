/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the advice about readahead that file_new gives to the kernel, with
 * posix_fadvise, for different file systems.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/file.h"
#include "util/error.h"

#if defined HAVE_PREADV2 && defined HAVE_POSIX_FADVISE && defined RWF_NOWAIT

static bool has_nowait;
static int advice;              /* the last advice */

ssize_t __wrap_preadv2 (int fd, const struct iovec *iov, int count,
                        off_t offset, int flags);
ssize_t __wrap_preadv64v2 (int fd, const struct iovec *iov, int count,
                           off_t offset, int flags);

ssize_t
__wrap_preadv2 (int fd, const struct iovec *iov, int count, off_t offset,
                int flags)
{
  (void) fd; (void) iov; (void) count; (void) offset;
  assert_int_equal (flags, RWF_NOWAIT);
  errno = has_nowait ? EAGAIN : EOPNOTSUPP;
  return -1;
}

ssize_t
__wrap_preadv64v2 (int fd, const struct iovec *iov, int count, off_t offset,
                   int flags)
{
  return __wrap_preadv2 (fd, iov, count, offset, flags);
}

int __wrap_posix_fadvise (int fd, off_t offset, off_t len, int value);
int __wrap_posix_fadvise64 (int fd, off_t offset, off_t len, int value);

int
__wrap_posix_fadvise (int fd, off_t offset, off_t len, int value)
{
  (void) fd; (void) offset; (void) len;
  advice = value;
  return 0;
}

int
__wrap_posix_fadvise64 (int fd, off_t offset, off_t len, int value)
{
  return __wrap_posix_fadvise (fd, offset, len, value);
}

static int
advice_for (bool cache, bool nowait)
{
  struct error error = { "" };
  struct file *file;

  has_nowait = nowait;
  advice = POSIX_FADV_NORMAL;
  file = file_new (open ("/dev/null", O_RDONLY), NULL, false, true, cache,
                   &error);
  assert_non_null (file);
  file_free (file);
  return advice;
}

/* For reads through the page cache, more readahead is requested, but only on
 * file systems without RWF_NOWAIT.  For other reads, readahead is disabled.
 */
static void
test_readahead (void **state)
{
  (void) state;

  assert_int_equal (advice_for (true, true), POSIX_FADV_NORMAL);
  assert_int_equal (advice_for (true, false), POSIX_FADV_SEQUENTIAL);
  assert_int_equal (advice_for (false, true), POSIX_FADV_RANDOM);
  assert_int_equal (advice_for (false, false), POSIX_FADV_RANDOM);
}

#else

static void
test_readahead (void **state)
{
  (void) state;
  skip ();
}

#endif

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_readahead),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

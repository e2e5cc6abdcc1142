/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For each permission n that it uses, qemu takes a shared lock on byte 100 + n;
 * for each permission that it does not share, on byte 200 + n.  Then it checks
 * that no other program has locked the opposite byte, 200 + n or 100 + n.  A
 * reader uses "consistent read" (0), and does not share "write" (1) and
 * "resize" (3).  A writer also uses "write".
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/lock.h"
#include "util/error.h"

#ifdef F_OFD_SETLK

#define USED 100
#define UNSHARED 200
#define CONSISTENT_READ 0
#define WRITE 1
#define RESIZE 3

static int
lock_byte (int fd, int cmd, short type, off_t byte, short *found)
{
  struct flock lock = {
    .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
  };

  if (fcntl (fd, cmd, &lock) == -1)
    return -1;
  if (found)
    *found = lock.l_type;
  return 0;
}

/* If the file system has no OFD locks, the byte counts as unlocked. */
static int
check_byte (int fd, off_t byte)
{
  short found = F_UNLCK;

  if (lock_byte (fd, F_OFD_GETLK, F_WRLCK, byte, &found) == -1)
    return 0;
  return found == F_UNLCK ? 0 : -1;
}

static void
take_bytes (int fd, const off_t *bytes, size_t count)
{
  size_t i;

  for (i = 0; i < count; i++)
    lock_byte (fd, F_OFD_SETLK, F_RDLCK, bytes[i], NULL);
}

static int
check_bytes (int fd, const off_t *bytes, size_t count)
{
  size_t i;

  for (i = 0; i < count; i++)
    if (check_byte (fd, bytes[i]) == -1)
      return -1;
  return 0;
}

#define COUNT(array) (sizeof array / sizeof array[0])

/* First lock, then check: of two processes that start at the same time, at
 * least one finds the locks of the other.
 */
int
lock_image (int fd, bool take, struct error *error)
{
  static const off_t ours[] = {
    USED + CONSISTENT_READ, UNSHARED + WRITE, UNSHARED + RESIZE
  };
  static const off_t theirs[] = {
    USED + WRITE, USED + RESIZE, UNSHARED + CONSISTENT_READ
  };

  if (take)
    take_bytes (fd, ours, COUNT (ours));
  if (check_bytes (fd, theirs, COUNT (theirs)) == 0)
    return 0;
  return error_set (error, "is in use by another program, which may write "
                    "it (a running virtual machine?); --force-share "
                    "reads it all the same");
}

int
lock_image_for_writing (int fd, bool take, struct error *error)
{
  static const off_t ours[] = {
    USED + CONSISTENT_READ, USED + WRITE, UNSHARED + WRITE, UNSHARED + RESIZE
  };
  static const off_t theirs[] = {
    USED + WRITE, USED + RESIZE, UNSHARED + CONSISTENT_READ, UNSHARED + WRITE
  };

  if (take)
    take_bytes (fd, ours, COUNT (ours));
  if (check_bytes (fd, theirs, COUNT (theirs)) == 0)
    return 0;
  return error_set (error, "is in use by another program, which reads or "
                    "writes it (a running virtual machine?)");
}

#else

int
lock_image (int fd, bool take, struct error *error)
{
  (void) fd;
  (void) take;
  (void) error;
  return 0;
}

int
lock_image_for_writing (int fd, bool take, struct error *error)
{
  (void) fd;
  (void) take;
  (void) error;
  return 0;
}

#endif

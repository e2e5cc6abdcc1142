/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors of a read that are about the bytes that were to be read: the storage
 * has lost them, or their checksum is wrong.  Other bytes can still be read,
 * and writing these can make them readable.
 */

#ifndef BLKSUM_MEDIUM_ERROR_H
#define BLKSUM_MEDIUM_ERROR_H

#include <errno.h>
#include <stdbool.h>

/* The block layer of Linux has several; an NBD server has only EIO. */
static inline bool
is_medium_error (int errnum)
{
  switch (errnum) {
  case EIO:
  case EILSEQ:
#ifdef ENODATA
  case ENODATA:
#endif
#ifdef EREMOTEIO
  case EREMOTEIO:
#endif
    return true;
  }
  return false;
}

#endif /* BLKSUM_MEDIUM_ERROR_H */

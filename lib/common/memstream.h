/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Close a stream of open_memstream, and get its text.
 */

#ifndef BLKHASH_MEMSTREAM_H
#define BLKHASH_MEMSTREAM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Close OUT, which open_memstream opened for TEXT.  Returns *TEXT, which the
 * caller frees; or NULL with errno set to ENOMEM if there is no memory.  The
 * fclose of glibc does not report this: it returns 0, but sets *TEXT to NULL.
 */
static inline char *
memstream_close (FILE *out, char **text)
{
  if (fclose (out) != 0) {
    free (*text);
    *text = NULL;
  }
  if (!*text)
    errno = ENOMEM;
  return *text;
}

#endif /* BLKHASH_MEMSTREAM_H */

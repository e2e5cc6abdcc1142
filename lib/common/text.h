/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a JSON string.
 */

#ifndef BLKHASH_TEXT_H
#define BLKHASH_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Write TEXT in quotes, with control characters escaped.  TEXT, for
 * instance a file name, need not be valid UTF-8, but JSON must be.  So each
 * byte that is not part of a valid character is written as U+FFFD.
 *
 * Returns false if a part could not be written.  Callers cannot rely on ferror:
 * a stream of open_memstream sets no error flag if there is no memory.
 */
bool json_string (FILE *out, const char *text);

/* Characters in UTF-8.  A name can have any bytes, but most names are UTF-8.
 */

/* Returns the length in bytes of the character at S, in a string that ends with
 * a null byte; or 0 if the bytes at S are not valid UTF-8.
 */
size_t utf8_length (const char *s);

/* Close a stream of open_memstream, and get its text.
 */

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

#endif /* BLKHASH_TEXT_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read and write text: numbers, words, lines, characters in UTF-8, strings of
 * JSON, and streams in memory.
 */

#ifndef BLKHASH_TEXT_H
#define BLKHASH_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parse the decimal digits at the start of TEXT, which can have leading zeros,
 * but no sign and no blanks.  Returns the text after them; or NULL if there are
 * none, or the number is above UINT64_MAX.
 */
const char *number_parse (const char *text, uint64_t *number);

/* Is the text of LEN bytes at TEXT one of WORDS?  The last of these is NULL. */
static inline bool
word_is_one_of (const char *text, size_t len, const char *const words[])
{
  for (; *words; words++)
    if (strncmp (text, *words, len) == 0 && strlen (*words) == len)
      return true;
  return false;
}

/* How a line ended; or LINE_LONG if it has more than SIZE - 1 bytes. */
enum line_end { LINE_NEWLINE, LINE_NUL, LINE_FILE_END, LINE_LONG };

/* Read a line from IN into TEXT, which has room for SIZE bytes, without the
 * character that ends it, and terminate it with a NUL.  Stores its length in
 * *LEN.  No more of a line that is too long is read, because a file of another
 * program may be one long line: the next call continues in the line.  At the
 * end of the file, and after an error of IN, LINE_FILE_END is returned with the
 * text that was read before.
 */
enum line_end line_read (FILE *in, char *text, size_t size, size_t *len);

/* Returns the length in bytes of the character in UTF-8 at TEXT, in a string
 * that ends with a NUL; or 0 if the bytes at TEXT are not valid UTF-8.
 */
size_t utf8_length (const char *text);

/* Write TEXT as a string of JSON, in quotes.  TEXT, for instance a file name,
 * need not be valid UTF-8, but JSON must be.  So each byte that is not part of
 * a valid character is written as U+FFFD.  All characters that control a
 * terminal are escaped, even those that JSON allows unescaped, because these
 * strings are also printed on terminals.
 *
 * Returns false if a part could not be written.  Callers cannot rely on ferror:
 * a stream of open_memstream sets no error flag if there is no memory.
 */
bool json_string (FILE *out, const char *text);

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

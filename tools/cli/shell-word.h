/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Quote a word for a shell.
 */

#ifndef BLKSUM_SHELL_WORD_H
#define BLKSUM_SHELL_WORD_H

#include <stdio.h>

/* Print WORD, in single quotes if a shell may interpret its characters. */
void shell_word_print (FILE *out, const char *word);

#endif /* BLKSUM_SHELL_WORD_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Completions of a partial command line, for the completion functions of the
 * shells in completions/.  Opens no file.
 */

#ifndef BLKSUM_COMPLETE_H
#define BLKSUM_COMPLETE_H

struct option_row;

/* Print what the last of the NR_WORDS words after "blksum" can become; it ends
 * where the cursor is.  The first line is KIND, a tab, and that part of the
 * word which stays as it is, such as "--manifest=".  KIND says what can follow
 * that part:
 *
 *   words         one of those in the lines that come next
 *   files         a file, or one of those words
 *   directories   a directory
 *
 * A line for a word has, for an option, a tab and its help.  Words are not
 * filtered by what the user has typed: the shell does that.  No space belongs
 * after a word that ends in "=" or ":".
 */
void complete_print (const struct option_row *rows, int nr_words,
                     char *const words[]);

#endif /* BLKSUM_COMPLETE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Completions of a partial command line, for the completion functions of the
 * shells in completions/.  The files that the words name are not opened.  To
 * list the formats, qemu-img is run.
 */

#ifndef BLKSUM_COMPLETE_H
#define BLKSUM_COMPLETE_H

struct command;

/* Print the completions of the last of the NR_WORDS WORDS, which ends at the
 * cursor.  WORDS begin after the name of the command.  The first line is KIND, a
 * tab, and the beginning of the last word that the completions do not replace,
 * such as "--manifest=" of "--manifest=di".  KIND is the type of the
 * completions:
 *
 *   words         the words in the following lines
 *   files         files, and the words in the following lines
 *
 * In the line of an option, a tab and the help of the option follow the word.
 * Some of the printed words do not begin with the text that they would replace:
 * the shell must omit these.  It must not append a space to a word that ends
 * with "=" or ":".
 */
void complete_print (const struct command *command, int nr_words,
                     char *const words[]);

#endif /* BLKSUM_COMPLETE_H */

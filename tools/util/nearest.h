/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What somebody meant who misspelled a word.
 */

#ifndef BLKSUM_NEAREST_H
#define BLKSUM_NEAREST_H

/* The one of WORDS, the last of which is NULL, that is spelled most like WORD,
 * in any case.  NULL if none is like it, or if there is no memory.
 */
const char *nearest (const char *word, const char *const *words);

#endif /* BLKSUM_NEAREST_H */

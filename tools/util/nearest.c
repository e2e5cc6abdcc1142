/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What somebody meant who misspelled a word: the word from which it takes the
 * least to make the wrong one, by characters that are added, left out or
 * replaced (Levenshtein).
 */

#include <config.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"

/* One replaced is less than one too many: qcow3 is qcow2 and not qcow. */
#define INSERT_COST 3
#define REPLACE_COST 2

static unsigned
min (unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* ROW has room for a number more than B has characters. */
static unsigned
distance (const char *a, const char *b, unsigned *row)
{
  size_t j, len = strlen (b);

  for (j = 0; j <= len; j++)
    row[j] = j * INSERT_COST;
  for (; *a; a++) {
    unsigned diagonal = row[0];

    row[0] += INSERT_COST;
    for (j = 1; j <= len; j++) {
      int same = tolower ((unsigned char) *a) ==
        tolower ((unsigned char) b[j - 1]);
      unsigned replaced = diagonal + (same ? 0 : REPLACE_COST);

      diagonal = row[j];
      row[j] = min (replaced, min (row[j], row[j - 1]) + INSERT_COST);
    }
  }
  return row[len];
}

const char *
nearest (const char *word, const char *const *words)
{
  /* About one in three may be wrong. */
  unsigned best = (strlen (word) + 2) / 3 * INSERT_COST + 1;
  const char *found = NULL;

  if (!*word)
    return NULL;
  for (; *words; words++) {
    unsigned *row = calloc (strlen (*words) + 1, sizeof *row);
    unsigned d = row ? distance (word, *words, row) : best;

    free (row);
    if (d < best) {
      best = d;
      found = *words;
    }
  }
  return found;
}

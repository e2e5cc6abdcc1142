/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * FILE.state, beside a manifest that is not finished: of what image it is, and
 * in which state that was.
 *
 * Both have a number that is drawn at random, in the header of the manifest as
 * the key "journal", so that a state is never taken for that of another
 * manifest, whatever was copied, moved or lost.
 */

#ifndef BLKSUM_STATE_H
#define BLKSUM_STATE_H

#include <stdbool.h>

struct error;

#define STATE_ID_DIGITS 32      /* hexadecimal */

struct state {
  char *journal;                /* the number */
  char *identity;               /* see job/identity.h */
  bool untrusted;               /* the image may have changed unseen */
  char *sum;                    /* hexadecimal, when all was hashed, or NULL */
};

/* The path of the state of the MANIFEST, or NULL if there is no memory. */
char *state_path_of (const char *manifest);

/* Read the state at PATH.  1; 0: there is none; or -1 with the reason: there is
 * something that is none.
 */
int state_read (struct state *state, const char *path, struct error *error);
void state_destroy (struct state *state);

/* Replace what is at PATH by STATE, which has no sum.  0, or -1 with the
 * reason.
 */
int state_write (const struct state *state, const char *path,
                 struct error *error);

/* Add the sum HEX, and that the image was hashed: before its manifest takes the
 * place of the unfinished one.  0, or -1 with the reason.
 */
int state_add_sum (const char *path, const char *hex, struct error *error);

#endif /* BLKSUM_STATE_H */

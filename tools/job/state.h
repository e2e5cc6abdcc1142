/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * FILE.state, beside an unfinished manifest: the identity of the image.
 *
 * The state and the header of the manifest contain the same random id, both as
 * the value of a key "journal".  So a state is never used with another
 * manifest, even if files were copied, moved or lost.
 */

#ifndef BLKSUM_STATE_H
#define BLKSUM_STATE_H

#include <stdbool.h>

struct error;

#define STATE_ID_DIGITS 32      /* hexadecimal */

struct state {
  char *journal;                /* the id */
  char *identity;               /* see job/identity.h */
  bool untrusted;               /* a modification may not be detected */
  char *sum;                    /* hexadecimal; NULL: hashing is unfinished */
};

/* Returns the path of the state of MANIFEST, or NULL if there is no memory. */
char *state_path_of (const char *manifest);

/* Read the state at PATH.  Returns 1; 0 if there is no file; or -1 with the
 * reason, for example that the file is not a state.
 */
int state_read (struct state *state, const char *path, struct error *error);
void state_destroy (struct state *state);

/* Write STATE to PATH, and replace an existing file.  Returns 0, or -1 with the
 * reason.
 */
int state_write (const struct state *state, const char *path,
                 struct error *error);

/* Add the sum HEX to the state at PATH.  Called after the image was hashed, and
 * before the finished manifest replaces the unfinished one.  Returns 0, or -1
 * with the reason.
 */
int state_add_sum (const char *path, const char *hex, struct error *error);

#endif /* BLKSUM_STATE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Those who share a budget for pieces of blocks: when there is no room, it is
 * taken from whoever holds most.
 */

#ifndef BLKHASH_PIECES_SHARE_H
#define BLKHASH_PIECES_SHARE_H

struct partial;
struct pieces;

/* PIECES holds something, or is about to end. */
void share_begin (struct pieces *pieces);
void share_end (struct pieces *pieces);

/* Who holds most gives its oldest block back.  0 if it did; EAGAIN if that is
 * PIECES, whose user has to take *OLDEST out; ENOBUFS if nobody can now.
 */
int share_make_room (struct pieces *pieces, struct partial **oldest);

#endif /* BLKHASH_PIECES_SHARE_H */

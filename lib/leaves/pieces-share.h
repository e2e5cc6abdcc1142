/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The users of a budget for pieces of blocks: when there is no room, the
 * largest user evicts a block.
 */

#ifndef BLKHASH_PIECES_SHARE_H
#define BLKHASH_PIECES_SHARE_H

struct partial;
struct pieces;

/* Add PIECES, which holds a block, to the users; or remove it. */
void share_begin (struct pieces *pieces);
void share_end (struct pieces *pieces);

/* Make the largest user evict its oldest block.  0 if it did; EAGAIN if that is
 * PIECES: the caller is to evict *OLDEST; ENOBUFS if no user can evict now.
 */
int share_make_room (struct pieces *pieces, struct partial **oldest);

#endif /* BLKHASH_PIECES_SHARE_H */

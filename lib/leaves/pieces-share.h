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

/* Add PIECES, which holds a block, to the list of users, or remove it from the
 * list.
 */
void share_add_user (struct pieces *pieces);
void share_remove_user (struct pieces *pieces);

/* Make the largest user hash or evict its oldest block.  Returns 0 on success;
 * EAGAIN if the largest user is PIECES itself, and the caller must hash or
 * evict *OLDEST; or ENOBUFS if no user can release a block now.  The caller
 * holds the lock of its table.
 */
int share_make_room (struct pieces *pieces, struct partial **oldest);

#endif /* BLKHASH_PIECES_SHARE_H */

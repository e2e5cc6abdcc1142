/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The users of a budget for pieces of blocks: the tables that have such pieces.
 * When there is no room, the largest idle user evicts a block, or the largest
 * user if none is idle.
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

/* Make room for PIECES: the largest idle user, or the largest user if none is
 * idle, hashes or evicts its oldest block.  If that user cannot, the next one
 * in this order does.  Returns 0 if a block was released; EAGAIN if it is the
 * turn of PIECES itself, and the caller must hash or evict *OLDEST; or ENOBUFS
 * if no user can release a block now.  The caller holds the lock of its table.
 */
int share_make_room (struct pieces *pieces, struct partial **oldest);

#endif /* BLKHASH_PIECES_SHARE_H */

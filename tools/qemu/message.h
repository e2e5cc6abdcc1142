/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a program of qemu said when it failed, for the user of blksum.
 */

#ifndef BLKSUM_QEMU_MESSAGE_H
#define BLKSUM_QEMU_MESSAGE_H

#include <stdbool.h>

struct error;

/* Make what it said, in lines, the reason in ERROR, instead of what is there.
 * TARGETS, the last of which is NULL, is what it was told to open, which is
 * written as NAME: the user knows none of our options and descriptors.
 * IS_OPERAND: the user will see NAME in front of each line, so it need not be
 * said that just this cannot be opened.
 *
 * If it said nothing but that we hung up, ERROR is left as it is.
 */
void qemu_message_refine_error (struct error *error, const char *messages,
                                const char *const *targets, const char *name,
                                bool is_operand);

#endif /* BLKSUM_QEMU_MESSAGE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Convert the messages of a failed program of qemu to an error for the user.
 */

#ifndef BLKSUM_QEMU_MESSAGE_H
#define BLKSUM_QEMU_MESSAGE_H

#include <stdbool.h>

struct error;

/* Replace ERROR by MESSAGES, lines that the program printed.  TARGETS is a
 * NULL-terminated array of the program's arguments that name the image.  They
 * are replaced by NAME in the messages, because the user does not know these
 * options and descriptors.  If IS_OPERAND is set, NAME is printed before each
 * line, so "Could not open 'NAME': " is removed from the line.
 *
 * ERROR is not replaced if MESSAGES only report that this process disconnected.
 */
void qemu_message_refine_error (struct error *error, const char *messages,
                                const char *const *targets, const char *name,
                                bool is_operand);

#endif /* BLKSUM_QEMU_MESSAGE_H */

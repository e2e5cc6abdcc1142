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
 * NULL-terminated array of the program's arguments that name the image.  In the
 * messages NAME replaces these arguments, which the user does not know.  If
 * IS_OPERAND is set, the caller prints NAME before the error in any case, so
 * text such as "Could not open 'NAME': " is removed.
 *
 * ERROR is not replaced if MESSAGES is empty, or only reports that this process
 * disconnected.
 */
void qemu_message_refine_error (struct error *error, const char *messages,
                                const char *const *targets, const char *name,
                                bool is_operand);

#endif /* BLKSUM_QEMU_MESSAGE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hides what only some systems have and configure does not check for, so that
 * its portable replacement is built and tested on a system that has it: "cc
 * -include portable.h".  test-portable.sh hides the rest.
 */

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* From here on as if nothing had been included, except these. */
#undef SEEK_DATA
#undef SEEK_HOLE
#undef F_OFD_GETLK
#undef F_OFD_SETLK
#undef F_OFD_SETLKW

/* The sources and config.h define these again. */
#undef _GNU_SOURCE
#undef _FILE_OFFSET_BITS

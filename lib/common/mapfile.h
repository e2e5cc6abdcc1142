/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of a mapfile of GNU ddrescue: the signature, the status line, and
 * the ranges, which are in order and without gaps.
 *
 * The status line has three fields: the position at which ddrescue continues
 * (here 0), a status, and the pass with which it continues (here 1).  ddrescue
 * refuses a status line with fewer fields.
 */

#ifndef BLKHASH_MAPFILE_H
#define BLKHASH_MAPFILE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define MAPFILE_SIGNATURE(program) "# Mapfile. Created by " program "\n"
#define MAPFILE_STATUS_BEGIN \
  "# current_pos  current_status  current_pass\n0x00000000"
#define MAPFILE_STATUS_END(status) \
  "     " status "               1\n#      pos        size  status\n"

#define MAPFILE_FINISHED '+'
#define MAPFILE_BAD '-'
#define MAPFILE_NOT_TRIED '?'

/* Format of a range: uint64_t start and length in bytes, char status. */
#define MAPFILE_RANGE "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n"

static inline void
mapfile_print_range (FILE *out, uint64_t start, uint64_t length, char status)
{
  fprintf (out, MAPFILE_RANGE, start, length, status);
}

#endif /* BLKHASH_MAPFILE_H */

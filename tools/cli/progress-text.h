/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Format the progress of a job: bytes, rate, remaining time and reads.  ROOM is
 * the size of the buffer TEXT.
 */

#ifndef BLKSUM_PROGRESS_TEXT_H
#define BLKSUM_PROGRESS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Write "12.3 GiB" to TEXT. */
void progress_text_bytes (char *text, size_t room, double bytes);

/* Write "1.2 GiB/s" to TEXT: the rate of DONE bytes in SECONDS. */
void progress_text_rate (char *text, size_t room, uint64_t done,
                         double seconds);

/* Write "1.2 GiB/s, 1:05 left" to TEXT: the rate, if DONE of SIZE bytes took
 * SECONDS, and the time that the other bytes will take at this rate.  Only the
 * rate is written if this time cannot be estimated, or is 999 days or more.
 */
void progress_text_left (char *text, size_t room, uint64_t done,
                         uint64_t size, double seconds);

/* Write "reading: 31 in flight, 5 ms" to TEXT: the number of reads in flight,
 * and the latency of a read in milliseconds.
 */
void progress_text_reads (char *text, size_t room, unsigned in_flight,
                          double latency);

#endif /* BLKSUM_PROGRESS_TEXT_H */

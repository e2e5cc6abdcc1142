/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CRC32C with the instruction of the CPU where there is one: a yardstick for
 * digest-bench, not the fastest that can be written.
 */

#ifndef BENCH_CRC32C_H
#define BENCH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c (const void *buf, size_t len);

#endif /* BENCH_CRC32C_H */

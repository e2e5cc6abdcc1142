/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CRC32C, the CRC of Castagnoli's polynomial, as in RFC 3720.  Thread-safe.
 */

#ifndef BLKHASH_CRC32C_H
#define BLKHASH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC of the data whose CRC is CRC, followed by LEN bytes of BUF.
 * The CRC of no data is 0.
 */
uint32_t crc32c (uint32_t crc, const void *buf, size_t len);

/* The same without instructions of the CPU: the fallback of crc32c, and for
 * tests.
 */
uint32_t crc32c_portable (uint32_t crc, const void *buf, size_t len);

#endif /* BLKHASH_CRC32C_H */

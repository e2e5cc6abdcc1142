/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CRC32C, the CRC of Castagnoli's polynomial, as in RFC 3720.  Thread-safe.
 */

#ifndef BLKHASH_CRC32C_H
#define BLKHASH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue a CRC: CRC is that of the data before BUF, or 0 if there is none.
 * Returns the CRC of that data and the LEN bytes of BUF.
 */
uint32_t crc32c (uint32_t crc, const void *buf, size_t len);

/* The same, without the CPU's instructions for CRC32C.  For crc32c on a CPU
 * that lacks them, and for tests.
 */
uint32_t crc32c_portable (uint32_t crc, const void *buf, size_t len);

#endif /* BLKHASH_CRC32C_H */

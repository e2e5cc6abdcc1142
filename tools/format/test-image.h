/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image for the unit tests of parsers.
 */

#ifndef BLKSUM_TEST_IMAGE_H
#define BLKSUM_TEST_IMAGE_H

#include <stdint.h>
#include <stdio.h>

#include "format/imagefile.h"

/* Set FILE to F, and return an image that is the first SIZE bytes of it. */
static inline struct imagefile
test_image (struct file *file, FILE *f, uint64_t size)
{
  *file = (struct file) { .fd = -1, .data.fd = fileno (f), .size = size };
  return imagefile_of (file);
}

#endif /* BLKSUM_TEST_IMAGE_H */

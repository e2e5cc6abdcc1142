/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image for the unit tests of parsers.
 */

#ifndef BLKSUM_TEST_FORMAT_H
#define BLKSUM_TEST_FORMAT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/imagefile.h"
#include "util/error.h"

/* Initialize *FILE with the descriptor of F, and return an image that is the
 * first SIZE bytes of F.
 */
static inline struct imagefile
test_image (struct file *file, FILE *f, uint64_t size)
{
  *file = (struct file) { .fd = -1, .data.fd = fileno (f), .size = size };
  return imagefile_of (file);
}

/* R and ERROR are the results of a check.  Assert that it succeeded if EXPECTED
 * is NULL, otherwise that it failed with a message that contains EXPECTED.
 */
static inline void
assert_checked (int r, const struct error *error, const char *expected)
{
  assert_int_equal (r == -1, error_is_set (error));
  if (expected && !strstr (error->text, expected))
    assert_string_equal (error->text, expected);
  assert_int_equal (r, expected ? -1 : 0);
}

#endif /* BLKSUM_TEST_FORMAT_H */

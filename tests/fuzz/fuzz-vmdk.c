/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzz target: the vmdk header, its descriptor, its grains, and the files that
 * it names.
 */

#include <config.h>

#include <string.h>

#include "format/formats.h"
#include "fuzz.h"

/* The name is not NULL, and terminated. */
static int
look_at_extent (void *opaque, const struct vmdk_extent *extent,
                struct error *error)
{
  (void) opaque;
  (void) error;
  if (strnlen (extent->type, sizeof extent->type) == sizeof extent->type ||
      strnlen (extent->name, sizeof extent->name) == sizeof extent->name ||
      extent->size == 0 || extent->size > UINT64_MAX - extent->offset)
    abort ();
  return 0;
}

typedef int check_function (const struct imagefile *file, struct error *error);

static int
check_extents (const struct imagefile *file, struct error *error)
{
  return vmdk_extents (file, look_at_extent, NULL, error);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct files files;
  struct imagefile file = imagefile_of (fuzz_open (&files, data, size));
  static check_function *const checks[] = {
    vmdk_check_self_contained, vmdk_check, check_extents
  };

  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    struct error error = { "" };

    if ((checks[i] (&file, &error) == -1) != error_is_set (&error))
      abort ();
  }
  files_close (&files);
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names of the formats of lists of changed ranges.
 */

#include <config.h>

#include <stddef.h>

#include "util/changes-file.h"

const char *
changes_format_name (enum changes_format format)
{
  static const char *const names[CHANGES_FORMATS] = {
    [CHANGES_BLKSUM] = "blksum", [CHANGES_NBDINFO] = "nbdinfo",
    [CHANGES_RBD] = "rbd", [CHANGES_VMWARE] = "vmware",
    [CHANGES_KUBERNETES] = "kubernetes", [CHANGES_DDRESCUE] = "ddrescue",
  };

  return names[format];
}

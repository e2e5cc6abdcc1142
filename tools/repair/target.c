/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A target: a raw file or block device in which blocks are replaced.
 */

#include <config.h>

#include <string.h>

#include "io/file.h"
#include "io/files.h"
#include "repair/target.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"

static int
check_operand (const char *operand, struct error *error)
{
  if (strcmp (operand, "-") == 0)
    return error_set (error, "standard input cannot be repaired");
  if (source_is_uri (operand))
    return error_set (error, "an NBD export cannot be repaired, because "
                      "nothing shows who else writes to it; repair the file or block "
                      "device on the host that has it");
  return 0;
}

/* Check that the image of EXPECTED bytes is the whole disk or, with --size,
 * its first bytes.
 */
static int
check_size (struct target *target, uint64_t expected, struct error *error)
{
  unsigned long long full = target->source->size, size = expected;
  unsigned long long option = target->options.size;

  if (option == SOURCE_WHOLE && full != size)
    return error_set (error, "has %llu bytes, but the image of the manifest "
                      "has %llu%s", full, size, full > size
                      ? "; --size is for an image on a larger disk" : "");
  if (option != SOURCE_WHOLE && full < option)
    return error_set (error, "has only %llu bytes, fewer than the %llu of "
                      "--size", full, option);
  if (option != SOURCE_WHOLE && option != size)
    return error_set (error, "--size is %llu bytes, but the image of the "
                      "manifest has %llu", option, size);
  target->size = target->source->size = size;
  return 0;
}

/* Open the source for the scan, and check the size of the target. */
static int
open_source (struct target *target, uint64_t size, struct error *error)
{
  if (source_open_raw (&target->options, target->file.fd, &target->source,
                       error) == -1)
    return -1;
  if (check_size (target, size, error) == 0)
    return 0;
  source_close (target->source);
  return -1;
}

int
target_open (struct target *target, uint64_t size, bool read_only,
             struct error *error)
{
  if (check_operand (target->operand, error) == -1 ||
      direct_file_open (&target->file, target->operand, read_only,
                        error) == -1)
    return -1;
  target->id = disk_id_of (target->file.fd, &target->file.st);
  if (open_source (target, size, error) == 0)
    return 0;
  direct_file_close (&target->file);
  return -1;
}

void
target_close (struct target *target)
{
  source_close (target->source);
  direct_file_close (&target->file);
}

bool
target_is_operand (const struct target *target, const char *operand)
{
  struct disk_id id;

  return !source_is_uri (operand) && disk_id_of_path (operand, &id) &&
    disk_id_is_same (&target->id, &id);
}

bool
target_is_in (const struct target *target, const struct source *source)
{
  return disk_id_is_in (&target->id, source->files);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of nbdkit-blkhash-verify-filter.  See verify-params.h.
 */

#include <config.h>

#include <string.h>

#include <nbdkit-filter.h>

#include "verify/verify-params.h"

#define MAX_RETRY 1000

struct verify_params verify_params = { .retry = 1 };

/* Set *RESULT to the index of VALUE in NAMES, which ends with NULL. */
static enum param_result
parse_word (const char *key, const char *value, const char *const *names,
            int *result)
{
  int i;

  for (i = 0; names[i]; i++)
    if (strcmp (value, names[i]) == 0) {
      *result = i;
      return PARAM_STORED;
    }
  nbdkit_error ("%s: unknown value: %s", key, value);
  return PARAM_INVALID;
}

static enum param_result
parse_flag (const char *key, const char *value, const char *no,
            const char *yes, bool *result)
{
  const char *const names[] = { no, yes, NULL };
  int number = 0;
  enum param_result r = parse_word (key, value, names, &number);

  *result = number;
  return r;
}

static enum param_result
parse_fail (const char *key, const char *value)
{
  static const char *const names[] = { "error", "warn", "stop", NULL };
  int number = 0;
  enum param_result r = parse_word (key, value, names, &number);

  verify_params.fail = number;
  return r;
}

static enum param_result
parse_zero (const char *key, const char *value)
{
  static const char *const names[] = { "skip", "extents", "read", NULL };
  int number = 0;
  enum param_result r = parse_word (key, value, names, &number);

  verify_params.zero = number;
  verify_params.has_zero = true;
  return r;
}

static enum param_result
parse_retry (const char *key, const char *value)
{
  if (nbdkit_parse_unsigned (key, value, &verify_params.retry) == -1)
    return PARAM_INVALID;
  if (verify_params.retry <= MAX_RETRY)
    return PARAM_STORED;
  nbdkit_error ("%s must be from 0 to %u", key, MAX_RETRY);
  return PARAM_INVALID;
}

static enum param_result
parse_repair (const char *key, const char *value)
{
  struct verify_params *p = &verify_params;
  enum param_result r;

  if (p->nr_repair == MAX_REPAIR_SOURCES) {
    nbdkit_error ("%s: there are more than %d repair sources", key,
                  MAX_REPAIR_SOURCES);
    return PARAM_INVALID;
  }
  r = config_files_parse (key, value, &p->repair[p->nr_repair]);
  p->nr_repair += r == PARAM_STORED;
  return r;
}

/* The same as verify_params_config, for the parameters that are paths. */
static enum param_result
parse_file (const char *key, const char *value)
{
  struct verify_params *p = &verify_params;
  const struct {
    const char *key, **path;
  } files[] = {
    { "blkhash-verify-manifest", &p->manifest },
    { "blkhash-verify-manifest-dir", &p->manifest_dir },
    { "blkhash-verify-sums", &p->sums },
    { "blkhash-verify-file", &p->file },
    { "blkhash-verify-status", &p->status },
    { "blkhash-verify-mapfile", &p->mapfile },
  };
  size_t i;

  for (i = 0; i < sizeof files / sizeof files[0]; i++)
    if (strcmp (key, files[i].key) == 0)
      return config_files_parse (key, value, files[i].path);
  return PARAM_UNKNOWN;
}

static int
refuse (const char *why)
{
  nbdkit_error ("%s", why);
  return -1;
}

enum param_result
verify_params_config (const char *key, const char *value)
{
  struct verify_params *p = &verify_params;

  if (strcmp (key, "blkhash-verify-sum") == 0) {
    p->sum = value;
    return PARAM_STORED;
  }
  if (strcmp (key, "blkhash-verify-name") == 0) {
    p->name = value;
    return PARAM_STORED;
  }
  if (strcmp (key, "blkhash-verify-export") == 0) {
    p->export = value;
    return PARAM_STORED;
  }
  if (strcmp (key, "blkhash-verify-size") == 0)
    return parse_flag (key, value, "exact", "truncate", &p->truncate);
  if (strcmp (key, "blkhash-verify-fail") == 0)
    return parse_fail (key, value);
  if (strcmp (key, "blkhash-verify-retry") == 0)
    return parse_retry (key, value);
  if (strcmp (key, "blkhash-verify-zero") == 0)
    return parse_zero (key, value);
  if (strcmp (key, "blkhash-verify-repair") == 0)
    return parse_repair (key, value);
  if (strcmp (key, "blkhash-verify-exports") == 0) {
    refuse ("blkhash-verify-exports is now: blkhash-verify-manifest-dir");
    return PARAM_INVALID;
  }
  return parse_file (key, value);
}

/* Check the parameters if all export names have the same disk. */
static int
check_one (const struct verify_params *p)
{
  if (!p->manifest)
    return refuse ("blkhash-verify-manifest is missing");
  if (p->sums)
    return refuse ("blkhash-verify-sums needs blkhash-verify-manifest-dir");
  if (!p->sum)
    return refuse ("blkhash-verify-sum is missing; give the sum that proves "
                   "the manifest, or none to trust it");
  return 0;
}

/* Check the parameters if each export has its own disk. */
static int
check_exports (const struct verify_params *p)
{
  if (p->manifest || p->name || p->mapfile || p->export || p->nr_repair > 0)
    return refuse ("blkhash-verify-manifest, blkhash-verify-name, "
                   "blkhash-verify-mapfile, blkhash-verify-export and "
                   "blkhash-verify-repair are for a single disk: they cannot "
                   "be used with blkhash-verify-manifest-dir");
  if (p->sum && p->sums)
    return refuse ("blkhash-verify-sum cannot be used with "
                   "blkhash-verify-sums");
  if (!p->sums && (!p->sum || strcmp (p->sum, "none") != 0))
    return refuse ("blkhash-verify-sums is missing; give the sums that prove "
                   "the manifests, or blkhash-verify-sum=none to trust them");
  return 0;
}

int
verify_params_complete (void)
{
  struct verify_params *p = &verify_params;

  if (p->file && !p->has_zero)
    p->zero = ZERO_EXTENTS;
  return p->manifest_dir ? check_exports (p) : check_one (p);
}

bool
verify_params_have_output (void)
{
  return verify_params.file || verify_params.status || verify_params.mapfile;
}

/* A plugin can serve a different disk for each export name.  The states of the
 * blocks, which outputs show, and FAIL_STOP are those of one disk.
 */
bool
verify_params_only_export (void)
{
  return !verify_params.manifest_dir &&
    (verify_params.export || verify_params_have_output () ||
     verify_params.fail == FAIL_STOP);
}

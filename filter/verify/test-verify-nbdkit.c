/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For unit tests of the verify filter.  See test-verify-nbdkit.h.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/common/sums.h"
#include "../lib/common/util.h"
#include "blkhash-manifest.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-params.h"

struct nbdkit_filter *filter_init (void);

/* ---- nbdkit ---- */

atomic_uint errors;
char last_error[512], previous_error[512];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
nbdkit_error (const char *message, ...)
{
  SCOPED_LOCK (&lock);
  va_list args;

  strcpy (previous_error, last_error);
  va_start (args, message);
  vsnprintf (last_error, sizeof last_error, message, args);
  va_end (args);
  errors++;
}

void
nbdkit_debug (const char *message, ...)
{
  (void) message;
}

atomic_bool is_ending;
int (*on_sleep) (void);

int
nbdkit_nanosleep (unsigned sec, unsigned nsec)
{
  assert (sec == 0 && nsec == 0);
  errno = ESHUTDOWN;
  return on_sleep ? on_sleep () : is_ending ? -1 : 0;
}

char *
nbdkit_absolute_path (const char *path)
{
  return strdup (path);
}

char *
nbdkit_realpath (const char *path)
{
  return realpath (path, NULL);
}

static char *interned[100];
static unsigned nr_interned;

const char *
nbdkit_strdup_intern (const char *string)
{
  assert (nr_interned < sizeof interned / sizeof interned[0]);
  return interned[nr_interned++] = strdup (string);
}

int
nbdkit_parse_unsigned (const char *what, const char *string, unsigned *n)
{
  char *end;

  *n = strtoul (string, &end, 10);
  if (*string >= '0' && *string <= '9' && !*end)
    return 0;
  nbdkit_error ("%s: could not parse number: %s", what, string);
  return -1;
}

/* As nbdkit's: extents must be contiguous, and those of one type are joined. */
int
nbdkit_add_extent (struct nbdkit_extents *extents, uint64_t offset,
                   uint64_t length, uint32_t type)
{
  struct nbdkit_extent *last = &extents->extent[extents->count - 1];

  assert (length > 0);
  if (extents->count > 0) {
    assert (offset == last->offset + last->length);
    if (type == last->type) {
      last->length += length;
      return 0;
    }
  }
  if (extents->count == extents->max) {
    errno = ENOMEM;
    return -1;
  }
  extents->extent[extents->count++] =
    (struct nbdkit_extent) { offset, length, type };
  return 0;
}

#define MAX_EXTENTS 10000       /* that a reply to the filter can have */

struct nbdkit_extents *
nbdkit_extents_new (uint64_t start, uint64_t end)
{
  struct nbdkit_extents *extents = calloc (1, sizeof *extents);

  assert (extents && start < end);
  extents->max = MAX_EXTENTS;
  extents->extent = calloc (MAX_EXTENTS, sizeof extents->extent[0]);
  assert (extents->extent);
  return extents;
}

void
nbdkit_extents_free (struct nbdkit_extents *extents)
{
  free (extents->extent);
  free (extents);
}

size_t
nbdkit_extents_count (const struct nbdkit_extents *extents)
{
  return extents->count;
}

struct nbdkit_extent
nbdkit_get_extent (const struct nbdkit_extents *extents, size_t i)
{
  assert (i < extents->count);
  return extents->extent[i];
}

char listed[100];

int
nbdkit_add_export (struct nbdkit_exports *exports, const char *name,
                   const char *description)
{
  (void) exports; (void) description;
  snprintf (listed, sizeof listed, "%s", name);
  return 0;
}

/* ---- The plugin ---- */

static int64_t
get_size (nbdkit_next *next)
{
  return ((struct plugin *) next)->size;
}

static int
block_size (nbdkit_next *next, uint32_t *min, uint32_t *preferred,
            uint32_t *max)
{
  const struct plugin *plugin = (struct plugin *) next;

  *min = plugin->min;
  *preferred = plugin->preferred;
  *max = plugin->max;
  return 0;
}

static int
can_multi_conn (nbdkit_next *next)
{
  return ((struct plugin *) next)->multi_conn;
}

static int
can_extents (nbdkit_next *next)
{
  return ((struct plugin *) next)->can_extents;
}

/* Returns true if FAULT affects this read.  If FAULT->left is more than 0, it
 * is then reduced by one.
 */
static bool
strikes (struct fault *fault, size_t len, uint64_t offset)
{
  int left = fault->left;

  if (fault->end <= offset || offset + len <= fault->start)
    return false;
  while (left > 0 &&
         !atomic_compare_exchange_weak (&fault->left, &left, left - 1))
    ;
  return left != 0;
}

void
fault_apply (const struct plugin *plugin, const struct fault *fault,
             unsigned char *buf, size_t len, uint64_t offset)
{
  uint64_t start = MAX (fault->start, offset);
  uint64_t end = MIN (fault->end, offset + len);
  unsigned char *at = buf + (start - offset);

  if (start >= end)
    return;
  if (fault->kind == FAULT_FLIP && start == fault->start)
    *at ^= 1;
  if (fault->kind == FAULT_ZERO)
    memset (at, 0, end - start);
  if (fault->kind == FAULT_OTHER)
    memcpy (at, plugin->bytes + fault->other + (start - fault->start),
            end - start);
}

static bool
is_allowed (const struct plugin *plugin, uint32_t len, uint64_t offset)
{
  uint32_t min = MAX (plugin->min, 1u);

  return len > 0 && offset + len <= plugin->size && offset % min == 0 &&
    (len % min == 0 || offset + len == plugin->size) &&
    len <= (plugin->max ? plugin->max : 64u * 1024 * 1024);
}

static int
plugin_pread (nbdkit_next *next, void *buf, uint32_t len, uint64_t offset,
              uint32_t flags, int *err)
{
  struct plugin *plugin = (struct plugin *) next;
  size_t i;
  int failed = 0;

  plugin->reads++;
  if (!is_allowed (plugin, len, offset) || flags != 0) {
    plugin->misused++;
    failed = EINVAL;
  }
  else
    memcpy (buf, plugin->bytes + offset, len);
  for (i = 0; i < plugin->nr_faults; i++) {
    struct fault *fault = &plugin->faults[i];

    if (!strikes (fault, len, offset))
      continue;
    if (fault->kind == FAULT_FAIL)
      failed = fault->err;
    else if (failed == 0)
      fault_apply (plugin, fault, buf, len, offset);
  }
  if (failed == 0)
    return 0;
  *err = failed;
  return -1;
}

void
plugin_init (struct plugin *plugin, uint64_t size)
{
  memset (plugin, 0, sizeof *plugin);
  plugin->next.get_size = get_size;
  plugin->next.block_size = block_size;
  plugin->next.can_multi_conn = can_multi_conn;
  plugin->next.can_extents = can_extents;
  plugin->next.pread = plugin_pread;
  plugin->size = size;
  plugin->bytes = calloc (1, size + 1);
  assert (plugin->bytes);
}

void
plugin_destroy (struct plugin *plugin)
{
  free (plugin->bytes);
}

/* ---- The server ---- */

/* server.c allows no second server in a process, so its functions are replaced.
 */
bool __wrap_ending_enter (void);
void __wrap_ending_leave (void);

bool
__wrap_ending_enter (void)
{
  return true;
}

void
__wrap_ending_leave (void)
{
}

struct nbdkit_filter *filter;

char passed_on[100];

static int
next_config (nbdkit_backend *nxdata, const char *key, const char *value)
{
  size_t len = strlen (passed_on);

  (void) nxdata;
  snprintf (passed_on + len, sizeof passed_on - len, "%s=%s;", key, value);
  return 0;
}

static int
next_config_complete (nbdkit_backend *nxdata)
{
  (void) nxdata;
  return 0;
}

static int
next_open (nbdkit_context *context, int readonly, const char *name)
{
  (void) context; (void) name;
  assert (readonly);
  return 0;
}

int
config (const char *key, const char *value)
{
  return filter->config (next_config, NULL, key, value);
}

int
start (const char *key, ...)
{
  va_list args;
  int r = 0;

  errors = 0;
  *last_error = *previous_error = *passed_on = '\0';
  verify_params = (struct verify_params) { .retry = 1 };
  filter = filter_init ();
  filter->load ();
  va_start (args, key);
  for (; key && r == 0; key = va_arg (args, const char *))
    r = config (key, va_arg (args, const char *));
  va_end (args);
  if (r != 0 || filter->config_complete (next_config_complete, NULL) != 0)
    return -1;
  return filter->get_ready (NBDKIT_THREAD_MODEL_PARALLEL);
}

void
unload (void)
{
  filter->unload ();
  while (nr_interned > 0)
    free (interned[--nr_interned]);
}

void *
open_export (const char *name)
{
  return filter->open (next_open, NULL, 0, name, 0);
}

/* ---- The tests ---- */

unsigned
get_seed (void)
{
  const char *given = getenv ("BLKHASH_SEED");
  unsigned seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);

  printf ("BLKHASH_SEED=%u\n", seed);
  return seed;
}

char *
manifest_of (const struct blkhash_opts *opts, const void *bytes, uint64_t size,
             const char *path)
{
  struct blkhash_leaves *l = blkhash_leaves_new (opts, size, 0);
  int fd = open (path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned len;
  int r;

  assert (l && fd != -1);
  r = blkhash_leaves_data (l, bytes, size, 0);
  assert (r == 0);
  r = blkhash_leaves_save (l, fd, md, &len);
  assert (r == 0);
  close (fd);
  blkhash_leaves_free (l);
  return sum_line (opts, md, len, NULL, true, false);
}

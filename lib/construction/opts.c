/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"
#include "common/hash-spec.h"
#include "common/util.h"
#include "construction/opts.h"
#include "digest/digest.h"

/* ---- Defaults and limits ---- */

#define DEFAULT_DIGEST "sha256"
#define DEFAULT_DIGEST_SIZE 32
#define DEFAULT_BLOCK_SIZE (64 * 1024)
#define MIN_BLOCK_SIZE 4
#define MAX_BLOCK_SIZE (16 * 1024 * 1024)
#define MAX_DEFAULT_THREADS 16
#define MAX_THREADS 128
#define MAX_QUEUE_DEPTH 65536
#define MAX_STREAMS 1024

static uint8_t
default_threads (void)
{
  long n = sysconf (_SC_NPROCESSORS_ONLN);

  return n < 1 ? 1 : MIN (n, MAX_DEFAULT_THREADS);
}

void
opts_init (struct blkhash_opts *opts)
{
  *opts = (struct blkhash_opts) {
    .digest_name = DEFAULT_DIGEST,
    .digest_size = DEFAULT_DIGEST_SIZE,
    .block_size = DEFAULT_BLOCK_SIZE,
    .threads = default_threads (),
  };
}

struct blkhash_opts *
blkhash_opts_new (const char *name)
{
  struct blkhash_opts *opts;
  struct digest *digest;

  if (!name) {
    errno = EINVAL;
    return NULL;
  }
  digest = digest_create (name);
  if (!digest)
    return NULL;

  opts = malloc (sizeof *opts);
  if (opts) {
    opts_init (opts);
    opts->digest_name = digest_name (digest);
    opts->digest_size = digest_size (digest);
  }
  digest_free (digest);
  return opts;
}

struct blkhash_opts *
blkhash_opts_copy (const struct blkhash_opts *opts)
{
  struct blkhash_opts *copy = malloc (sizeof *copy);

  if (!copy)
    return NULL;
  if (opts)
    *copy = *opts;
  else
    opts_init (copy);
  return copy;
}

void
blkhash_opts_free (struct blkhash_opts *opts)
{
  free (opts);
}

int
blkhash_opts_set_block_size (struct blkhash_opts *opts, uint32_t block_size)
{
  if (block_size < MIN_BLOCK_SIZE || block_size > MAX_BLOCK_SIZE ||
      (block_size & (block_size - 1)) != 0)
    return EINVAL;
  opts->block_size = block_size;
  return 0;
}

int
blkhash_opts_set_threads (struct blkhash_opts *opts, uint8_t threads)
{
  if (threads < 1 || threads > MAX_THREADS)
    return EINVAL;
  opts->threads = threads;
  return 0;
}

int
blkhash_opts_set_queue_depth (struct blkhash_opts *opts, unsigned queue_depth)
{
  if (queue_depth > MAX_QUEUE_DEPTH)
    return EINVAL;
  opts->queue_depth = queue_depth;
  return 0;
}

int
blkhash_opts_set_streams (struct blkhash_opts *opts, unsigned streams)
{
  if (streams > MAX_STREAMS)
    return EINVAL;
  opts->construction = (struct construction) { .streams = streams };
  return 0;
}

int
blkhash_opts_set_linear (struct blkhash_opts *opts, int linear)
{
  if (linear != 0 && linear != 1)
    return EINVAL;
  opts->construction.linear = linear;
  if (linear)
    opts->construction.streams = 0;
  return 0;
}

const char *
blkhash_opts_get_digest_name (const struct blkhash_opts *opts)
{
  return opts->digest_name;
}

size_t
blkhash_opts_get_digest_size (const struct blkhash_opts *opts)
{
  return opts->digest_size;
}

uint32_t
blkhash_opts_get_block_size (const struct blkhash_opts *opts)
{
  return opts->block_size;
}

uint8_t
blkhash_opts_get_threads (const struct blkhash_opts *opts)
{
  return opts->threads;
}

unsigned
blkhash_opts_get_queue_depth (const struct blkhash_opts *opts)
{
  return opts->queue_depth;
}

unsigned
blkhash_opts_get_streams (const struct blkhash_opts *opts)
{
  return opts->construction.streams;
}

int
blkhash_opts_get_linear (const struct blkhash_opts *opts)
{
  return opts->construction.linear;
}

int
blkhash_opts_same_hash (const struct blkhash_opts *a,
                        const struct blkhash_opts *b)
{
  return strcmp (a->digest_name, b->digest_name) == 0 &&
    a->block_size == b->block_size &&
    a->construction.streams == b->construction.streams &&
    a->construction.linear == b->construction.linear;
}

/* ---- The tag ----
 *
 * A text that identifies the parameters of a hash, such as blk-sha256/64k.  A
 * tag is a spec of which only one spelling is valid, so its options are
 * formatted again and compared with it: an alias of a digest, "1024k" instead
 * of "1m", and a leading zero are errors.
 */

int
blkhash_opts_get_tag (const struct blkhash_opts *opts, char *tag, size_t size)
{
  uint32_t block_size = blkhash_opts_get_block_size (opts);
  unsigned streams = blkhash_opts_get_streams (opts);
  char construction[16] = "";
  const char *unit = "";
  int len;

  if (block_size % (1024 * 1024) == 0)
    block_size /= 1024 * 1024, unit = "m";
  else if (block_size % 1024 == 0)
    block_size /= 1024, unit = "k";
  if (streams > 0)
    snprintf (construction, sizeof construction, "/s%u", streams);
  else if (blkhash_opts_get_linear (opts))
    strcpy (construction, "/linear");
  len = snprintf (tag, size, "blk-%s/%u%s%s",
                  blkhash_opts_get_digest_name (opts), block_size, unit,
                  construction);
  return len < size ? 0 : ERANGE;
}

static bool
has_tag (const struct blkhash_opts *opts, const char *text)
{
  char tag[BLKHASH_MAX_TAG_SIZE];

  return blkhash_opts_get_tag (opts, tag, sizeof tag) == 0 &&
    strcmp (tag, text) == 0;
}

struct blkhash_opts *
blkhash_opts_from_spec (const char *text)
{
  struct blkhash_opts defaults, *opts;
  struct hash_spec spec;

  if (!text || hash_spec_parse_user (text, &spec) != 0) {
    errno = EINVAL;
    return NULL;
  }
  opts_init (&defaults);
  opts = hash_spec_opts (&spec, &defaults);
  if (!opts && errno != ENOMEM)
    errno = EINVAL;
  return opts;
}

struct blkhash_opts *
blkhash_opts_from_tag (const char *tag)
{
  struct blkhash_opts *opts = blkhash_opts_from_spec (tag);

  if (!opts || has_tag (opts, tag))
    return opts;
  blkhash_opts_free (opts);
  errno = EINVAL;
  return NULL;
}

/* ---- The library ---- */

size_t
blkhash_digests (const char **names, size_t count)
{
  return digest_list (names, count);
}

const char *
blkhash_version (void)
{
  return PACKAGE_VERSION;
}

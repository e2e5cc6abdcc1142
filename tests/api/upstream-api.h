/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The functions that a program for upstream's blkhash 0.11 can call, declared
 * by us.  test-soname.sh makes a library of them, one declaration per line, and
 * compiles this together with our blkhash.h: a type that differs is an error.
 */

#ifndef UPSTREAM_API_H
#define UPSTREAM_API_H

#include <stddef.h>
#include <stdint.h>

#define BLKHASH_MAX_MD_SIZE 64

struct blkhash;
struct blkhash_opts;

#ifndef BLKHASH_H
struct blkhash_completion {
  void *user_data;
  int error;
};
#endif

struct blkhash *blkhash_new (void);
struct blkhash *blkhash_new_opts (const struct blkhash_opts *);
int blkhash_update (struct blkhash *, const void *, size_t);
int blkhash_zero (struct blkhash *, size_t);
int blkhash_aio_update (struct blkhash *, const void *, size_t, void *);
int blkhash_aio_completion_fd (struct blkhash *);
int blkhash_aio_completions (struct blkhash *, struct blkhash_completion *,
                             unsigned);
int blkhash_final (struct blkhash *, unsigned char *, unsigned int *);
void blkhash_free (struct blkhash *);
size_t blkhash_digests (const char **, size_t);
struct blkhash_opts *blkhash_opts_new (const char *);
void blkhash_opts_free (struct blkhash_opts *);
int blkhash_opts_set_block_size (struct blkhash_opts *, uint32_t);
int blkhash_opts_set_threads (struct blkhash_opts *, uint8_t);
int blkhash_opts_set_queue_depth (struct blkhash_opts *, unsigned);
int blkhash_opts_set_streams (struct blkhash_opts *, unsigned);
const char *blkhash_opts_get_digest_name (const struct blkhash_opts *);
uint32_t blkhash_opts_get_block_size (const struct blkhash_opts *);
uint8_t blkhash_opts_get_threads (const struct blkhash_opts *);
unsigned blkhash_opts_get_queue_depth (const struct blkhash_opts *);
unsigned blkhash_opts_get_streams (const struct blkhash_opts *);

#endif /* UPSTREAM_API_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the digests of pieces that arrive in any order, from several
 * threads, are those of the content.  Each buffer is released once, and not
 * before all digests have hashed it: a released buffer is overwritten here.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash.h"

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "../lib/digest/digest.h"
#include "read/content.h"
#include "read/reader.h"
#include "util/content-sums.h"
#include "util/error.h"

#define BUFFERS 24
#define RANGES 3                /* of a buffer, with zeros after each */
#define THREADS 3
#define ROUNDS 20
#define LONG_WAIT (300 * NS_PER_SECOND)

static unsigned seed = 1;

static size_t
random_len (void)
{
  return 1 + rand_r (&seed) % (rand_r (&seed) % 8 == 0 ? 3000000 : 5000);
}

/* ---- An image, and the reader ---- */

static struct image {
  unsigned char *bytes;         /* the content */
  uint64_t size;
  struct content_piece zeros[BUFFERS * RANGES];
  struct buffer buffers[BUFFERS];
  unsigned order[BUFFERS];      /* in which they arrive */

  struct content *content;
  pthread_mutex_t lock;         /* protects the fields below */
  unsigned next;                /* of ORDER */
  unsigned released;            /* buffers */
  bool is_released[BUFFERS];
} image = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
advanced (void *opaque, struct buffer *buffer)
{
  SCOPED_LOCK (&image.lock);

  assert_ptr_equal (opaque, &image);
  if (!buffer)
    return;
  assert_false (image.is_released[buffer - image.buffers]);
  image.is_released[buffer - image.buffers] = true;
  image.released++;
  memset (buffer->bytes, 0x77, buffer->len);
}

/* Make an image of BUFFERS buffers, whose pieces are not in its memory. */
static void
make_image (void)
{
  image.size = 0;
  for (unsigned i = 0; i < BUFFERS; i++) {
    struct buffer *buffer = &image.buffers[i];

    buffer->len = 0;
    for (unsigned n = 0; n < RANGES; n++) {
      struct content_piece *zeros = &image.zeros[i * RANGES + n];

      buffer->pieces[n] = (struct content_piece) {
        .offset = image.size, .len = random_len ()
      };
      buffer->len += buffer->pieces[n].len;
      image.size += buffer->pieces[n].len;
      *zeros = (struct content_piece) {
        .offset = image.size,
        .len = rand_r (&seed) % 2 ? random_len () : 0,
      };
      image.size += zeros->len;
    }
    image.order[i] = i;
    image.is_released[i] = false;
  }
  image.bytes = calloc (image.size, 1);
  for (unsigned i = 0; i < BUFFERS; i++) {
    struct buffer *buffer = &image.buffers[i];
    unsigned char *to = buffer->bytes = malloc (buffer->len);

    for (unsigned n = 0; n < RANGES; n++) {
      struct content_piece *piece = &buffer->pieces[n];

      for (size_t b = 0; b < piece->len; b++)
        image.bytes[piece->offset + b] = to[b] = rand_r (&seed);
      piece->data = to;
      to += piece->len;
    }
    buffer->pieces[RANGES - 1].buffer = buffer;
  }
  image.next = image.released = 0;
}

static void
free_image (void)
{
  for (unsigned i = 0; i < BUFFERS; i++)
    free (image.buffers[i].bytes);
  free (image.bytes);
}

static void
shuffle (void)
{
  for (unsigned i = BUFFERS - 1; i > 0; i--) {
    unsigned j = rand_r (&seed) % (i + 1), order = image.order[i];

    image.order[i] = image.order[j];
    image.order[j] = order;
  }
}

static void
add_buffer (unsigned i)
{
  for (unsigned n = 0; n < RANGES; n++) {
    const struct content_piece *zeros = &image.zeros[i * RANGES + n];

    /* In two steps, as a hole is added. */
    if (zeros->len > 1) {
      assert_int_equal (content_add_zero (image.content, 1, zeros->offset), 0);
      assert_int_equal (content_add_zero (image.content, zeros->len - 1,
                                          zeros->offset + 1), 0);
    }
    else if (zeros->len > 0)
      assert_int_equal (content_add_zero (image.content, 1, zeros->offset), 0);
  }
  content_add_data (image.content, image.buffers[i].pieces, RANGES);
}

static void *
run_thread (void *opaque)
{
  (void) opaque;
  for (;;) {
    unsigned i;

    {
      SCOPED_LOCK (&image.lock);

      if (image.next == BUFFERS)
        return NULL;
      i = image.order[image.next++];
    }
    add_buffer (i);
  }
}

static struct content_sums
new_content (unsigned count)
{
  static const char *const names[] = { "sha256", "md5", "sha512", "sha1" };
  struct content_sums sums = { .count = 0 };
  struct error error = { "" };

  for (unsigned i = 0; i < count; i++)
    assert_true (content_sums_add (&sums, names[i]));
  image.content = content_create (&sums, &error);
  assert_non_null (image.content);
  content_attach (image.content, advanced, &image, NULL);
  return sums;
}

static void
check_sum (const struct content_sum *sum)
{
  struct digest *digest = digest_create (sum->digest);
  struct digest_ctx *ctx = digest_ctx_create (digest);
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  assert_int_equal (digest_init (ctx), 0);
  assert_int_equal (digest_update (ctx, image.bytes, image.size), 0);
  assert_int_equal (digest_final (ctx, md), 0);
  assert_int_equal (sum->md_len, digest_size (digest));
  assert_memory_equal (sum->md, md, sum->md_len);
  digest_ctx_free (ctx);
  digest_free (digest);
}

/* ---- Tests ---- */

static void
test_order (void **state)
{
  (void) state;
  for (unsigned round = 0; round < ROUNDS; round++) {
    pthread_t threads[THREADS];
    struct error error = { "" };
    struct content_sums sums = new_content (1 + round % 4);

    make_image ();
    if (round > 0)
      shuffle ();
    for (unsigned i = 0; i < THREADS; i++)
      assert_int_equal (pthread_create (&threads[i], NULL, run_thread, NULL),
                        0);
    for (unsigned i = 0; i < THREADS; i++)
      pthread_join (threads[i], NULL);
    assert_true (content_wait (image.content, LONG_WAIT));
    assert_int_equal (content_position (image.content), image.size);
    assert_int_equal (image.released, BUFFERS);
    content_detach (image.content);
    sums.count = 0;
    assert_int_equal (content_finish (image.content, image.size, &sums, &error),
                      0);
    assert_int_equal (sums.count, 1 + round % 4);
    for (unsigned i = 0; i < sums.count; i++)
      check_sum (&sums.sums[i]);
    content_free (image.content);
    free_image ();
  }
}

/* If a range is missing, what is after it is not hashed: the digest is refused,
 * and the buffers are released.
 */
static void
test_gap (void **state)
{
  struct content_sums sums = new_content (2);
  struct error error = { "" };
  unsigned i;

  (void) state;
  make_image ();
  for (i = 0; i < BUFFERS; i++)
    if (i != BUFFERS / 2)
      add_buffer (i);
  assert_true (content_wait (image.content, LONG_WAIT));
  assert_int_equal (content_position (image.content),
                    image.buffers[BUFFERS / 2].pieces[0].offset);
  assert_int_equal (image.released, BUFFERS / 2);
  content_detach (image.content);
  assert_int_equal (image.released, BUFFERS - 1);
  assert_int_equal (content_finish (image.content, image.size, &sums, &error),
                    -1);
  assert_true (error_is_set (&error));
  content_free (image.content);
  free_image ();
}

/* A size that is not that of the content is refused, and so is a stop. */
static void
test_stop (void **state)
{
  struct content_sums sums = new_content (1);
  struct error error = { "" };

  (void) state;
  make_image ();
  for (unsigned i = 0; i < BUFFERS; i++)
    add_buffer (i);
  content_stop (image.content);
  assert_true (content_wait (image.content, LONG_WAIT));
  content_detach (image.content);
  assert_int_equal (image.released, BUFFERS);
  assert_int_equal (content_finish (image.content, image.size + 1, &sums,
                                    &error), -1);
  content_free (image.content);
  free_image ();
}

static atomic_bool no_update;   /* digest_update fails */

int __real_digest_update (struct digest_ctx *ctx, const void *buf, size_t len);
int __wrap_digest_update (struct digest_ctx *ctx, const void *buf, size_t len);

int
__wrap_digest_update (struct digest_ctx *ctx, const void *buf, size_t len)
{
  return no_update ? EIO : __real_digest_update (ctx, buf, len);
}

/* If a digest fails, all buffers are released, and there is no digest. */
static void
test_failure (void **state)
{
  struct content_sums sums = new_content (2);
  struct error error = { "" };

  (void) state;
  make_image ();
  for (unsigned i = 0; i < BUFFERS; i++) {
    no_update = i == BUFFERS / 2;
    add_buffer (i);
    assert_true (content_wait (image.content, LONG_WAIT));
  }
  assert_int_equal (image.released, BUFFERS);
  content_detach (image.content);
  assert_int_equal (content_finish (image.content, image.size, &sums, &error),
                    -1);
  assert_true (error_is_set (&error));
  content_free (image.content);
  free_image ();
}

/* An image without bytes. */
static void
test_empty (void **state)
{
  struct content_sums sums = new_content (3);
  struct error error = { "" };

  (void) state;
  assert_true (content_wait (image.content, 0) ||
               content_wait (image.content, LONG_WAIT));
  content_detach (image.content);
  assert_int_equal (content_finish (image.content, 0, &sums, &error), 0);
  image.bytes = (unsigned char *) "";
  image.size = 0;
  for (unsigned i = 0; i < sums.count; i++)
    check_sum (&sums.sums[i]);
  content_free (image.content);
}

static void
test_unknown (void **state)
{
  struct content_sums sums = { .count = 2 };
  struct error error = { "" };

  (void) state;
  strcpy (sums.sums[0].digest, "sha256");
  strcpy (sums.sums[1].digest, "none");
  assert_null (content_create (&sums, &error));
  assert_non_null (strstr (error.text, "none of the content"));
  content_free (NULL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_order),
    cmocka_unit_test (test_gap),
    cmocka_unit_test (test_stop),
    cmocka_unit_test (test_failure),
    cmocka_unit_test (test_empty),
    cmocka_unit_test (test_unknown),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

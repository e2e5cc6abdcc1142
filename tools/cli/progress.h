/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far one source is: a bar on a terminal, lines for a program, or a line
 * when somebody asks.
 */

#ifndef BLKSUM_PROGRESS_H
#define BLKSUM_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct progress_form;

#define PROGRESS_NO_SIZE UINT64_MAX /* nobody knows how long it is */

struct progress {
  int fd;                       /* -1: nothing is shown */
  bool bar;                     /* else lines N/100, as nbdcopy prints */
  const char *name;             /* in front of the bar, or NULL */
  uint64_t size;                /* bytes, or PROGRESS_NO_SIZE */
  double start;                 /* seconds, of a clock */

  pthread_mutex_t lock;         /* protects what follows */
  uint64_t done;                /* bytes */
  int percent;                  /* of SIZE */
  double shown;                 /* when the bar was drawn, seconds */
};

void progress_init (struct progress *progress,
                    const struct progress_form *form, uint64_t size);

/* The same for something before or after that: a program, which expects one
 * 100/100, is not told of it.
 */
void progress_init_aside (struct progress *progress,
                          const struct progress_form *form, uint64_t size);

/* LEN more bytes were hashed, or need not be.  Thread-safe. */
void progress_add (struct progress *progress, uint64_t len);

/* Between these two nothing is drawn, so that lines can be printed: wipe the
 * bar, and draw it again.  By the same thread; one thread at a time.
 */
void progress_hide (struct progress *progress);
void progress_show (struct progress *progress);

/* The source was hashed, or failed: wipe the bar. */
void progress_end (struct progress *progress, bool complete);

/* From now on SIGUSR1 has it printed on standard error how far it is, whatever
 * else is shown.  To be called once, before there is any other thread.
 */
void progress_listen (void);

#endif /* BLKSUM_PROGRESS_H */

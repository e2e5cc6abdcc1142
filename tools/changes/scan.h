/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The JSON that lists of ranges are: an array of objects, whose members are
 * whole numbers or short strings.
 *
 * It comes from anybody.  A parser of all JSON takes a number that is too large
 * for the largest that there is, and of two members of one name the last: here
 * each is an error, as is whatever lists of ranges do not have.  Memory does
 * not grow with the input.
 *
 * After an error, which is in the struct error, nothing but scan_error may be
 * called.  Functions return 0 or -1, or 1, 0 or -1.
 */

#ifndef BLKSUM_CHANGES_SCAN_H
#define BLKSUM_CHANGES_SCAN_H

#include <stdint.h>
#include <stdio.h>

struct error;

#define SCAN_STRING 32          /* with NUL; a longer one is an error */

struct scan {
  FILE *in;
  const char *name;             /* of it, for errors; NULL: standard input */
  uint64_t item;                /* which object this is, from 1 */
  uint64_t member;              /* which of its members, from 1 */
  struct error *error;
};

/* The array begins. */
int scan_begin (struct scan *scan);

/* 1: another object begins; 0: the array ended, and so did the input. */
int scan_object (struct scan *scan);

/* 1: the object has another member, KEY, whose value is next; 0: it ended. */
int scan_key (struct scan *scan, char key[SCAN_STRING]);

/* The value of that member. */
int scan_number (struct scan *scan, uint64_t *number);
int scan_string (struct scan *scan, char text[SCAN_STRING]);

/* Say what is wrong with the object.  Always returns -1. */
int scan_error (struct scan *scan, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

#endif /* BLKSUM_CHANGES_SCAN_H */

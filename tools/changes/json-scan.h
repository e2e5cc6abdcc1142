/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A parser for the JSON of lists of ranges: an array of objects, whose members
 * are integers, short strings, arrays of such objects, or null.  Instead of an
 * array there can be objects one after the other, as when replies are appended
 * to a file.
 *
 * The input is untrusted.  Common JSON parsers read a number that is too large
 * as the largest one, and use the last of two members with the same name.  This
 * parser accepts only what a list of ranges contains, and its caller refuses
 * repeated members.  Memory does not grow with the input.
 *
 * Functions return 0, some of them also 1; or -1 on error.  The reason is then
 * in the struct error, and only json_scan_error may be called.
 */

#ifndef BLKSUM_JSON_SCAN_H
#define BLKSUM_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;

#define JSON_SCAN_STRING 32     /* size of a string with its NUL; a longer
                                 * string is an error */

struct json_scan {
  FILE *in;
  const char *name;             /* of the file, for errors */
  bool bare;                    /* objects without an array */
  uint64_t item;                /* number of the object, from 1 */
  uint64_t inner;               /* number of the object in an inner array, from
                                 * 1; 0 outside of inner arrays */
  uint64_t member;              /* number of the member in its object, from 1 */
  uint64_t outer_member;        /* MEMBER of the outer object, during an inner
                                 * array */
  struct error *error;
};

/* Read the start of the array; or set BARE, if an object begins instead. */
int json_scan_begin (struct json_scan *scan);

/* Returns 1 if another object begins, or 0 at the end of the array or of bare
 * objects, which must be the end of the input.
 */
int json_scan_object (struct json_scan *scan);

/* Returns 1 with KEY if the object has another member, whose value is next; 0
 * at the end of the object.
 */
int json_scan_key (struct json_scan *scan, char key[JSON_SCAN_STRING]);

/* Read the value of the member that json_scan_key has returned. */
int json_scan_number (struct json_scan *scan, uint64_t *number);
int json_scan_string (struct json_scan *scan, char text[JSON_SCAN_STRING]);

/* Read the value of this member, which must be an array of objects.
 * json_scan_inner_begin reads its start.  json_scan_inner_object returns 1 if
 * another object begins, whose members json_scan_key reads; or 0 at the end of
 * the array.
 */
int json_scan_inner_begin (struct json_scan *scan);
int json_scan_inner_object (struct json_scan *scan);

/* Returns 1 if the value of this member is null, which is then read.  Returns 0
 * if it is another value, which is not read.
 */
int json_scan_null (struct json_scan *scan);

/* Set an error of the current object.  Always returns -1. */
int json_scan_error (struct json_scan *scan, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

#endif /* BLKSUM_JSON_SCAN_H */

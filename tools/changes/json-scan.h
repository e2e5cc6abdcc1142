/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A parser for the JSON of lists of ranges: an array of objects, whose members
 * are integers or strings; or an object that has such arrays as members.
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

#include <stdint.h>
#include <stdio.h>

struct error;

#define JSON_SCAN_STRING 32     /* size of a string with its NUL; a longer
                                 * string is an error, unless it is skipped */

struct json_scan {
  FILE *in;
  const char *name;             /* of the file, for errors */
  uint64_t item;                /* number of the object in its array, from 1, or
                                 * 0 outside of an array */
  uint64_t member;              /* number of the member in its object, from 1 */
  struct error *error;
};

/* Read the start of an array or of an object.  Returns '[' or '{'. */
int json_scan_begin (struct json_scan *scan);

/* Check that the input ends. */
int json_scan_end (struct json_scan *scan);

/* Read the start of an array, the value of a member. */
int json_scan_array (struct json_scan *scan);

/* Returns 1 if another object begins, or 0 at the end of the array; then the
 * object that has the array continues.
 */
int json_scan_object (struct json_scan *scan);

/* Returns 1 with KEY if the object has another member, whose value is next; 0
 * at the end of the object.
 */
int json_scan_key (struct json_scan *scan, char key[JSON_SCAN_STRING]);

/* Read the value of the member that json_scan_key has returned. */
int json_scan_number (struct json_scan *scan, uint64_t *number);
int json_scan_string (struct json_scan *scan, char text[JSON_SCAN_STRING]);

/* Skip a string, which can be of any length, and have any characters. */
int json_scan_skip_string (struct json_scan *scan);

/* Set an error of the current object.  Always returns -1. */
int json_scan_error (struct json_scan *scan, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

#endif /* BLKSUM_JSON_SCAN_H */

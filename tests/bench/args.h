/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arguments of the benchmark programs: an invalid one ends the program with
 * a message and status 2, any other failure with status 1.
 */

#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

#include <stdint.h>

/* The name for messages; each program defines it. */
extern const char program[];

/* Print "PROGRAM: MESSAGE" to stderr and exit with STATUS. */
void die (int status, const char *fmt, ...)
  __attribute__ ((noreturn, format (printf, 2, 3)));

/* Exit with the text of ERR, an errno value, unless that is 0. */
void check (int err, const char *what);

/* A number of bytes, with an optional suffix k, m, g or t. */
uint64_t size_arg (const char *arg);

/* A number from MIN to MAX. */
uint64_t number_arg (const char *arg, uint64_t min, uint64_t max);

/* A number of seconds greater than 0, with decimals. */
double seconds_arg (const char *arg);

#endif /* BENCH_ARGS_H */

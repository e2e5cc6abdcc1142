/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plan of the parts of an image: the file "plan" in their directory, which
 * the first process writes and no process changes.  It is lines of text:
 *
 *     blkhash-plan 1
 *     sum: blk-sha256/64k
 *     size: 68719476736
 *     parts: 16
 *     format: raw
 *     file: 68719476736 524313 1764379000.123456789 1764379000.123456789
 *
 * The lines from "format" on are the state of the image: a line for each of its
 * files with the size, inode, mtime and ctime, by which a later process
 * detects that the image was modified, or is another one.  The device is not in
 * it, because hosts see different ones.  With --state the user says which state
 * it is: then a line "state: NAME" is before these lines, and they have only
 * the sizes.
 */

#ifndef BLKSUM_PLAN_H
#define BLKSUM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"
#include "util/error.h"

struct blkhash_manifest_reader;
struct blkhash_opts;
struct source;

#define PLAN_ID_SIZE 65

struct plan {
  char *text;                   /* content of the file */
  char id[PLAN_ID_SIZE];        /* its SHA-256 in hexadecimal digits */
  struct blkhash_opts *opts;    /* hash parameters */
  uint64_t size;                /* size of the image, bytes */
  uint32_t parts;               /* number of parts, at most PART_MAX */
};

/* Read the plan in DIR, if there is one.  PLAN must be destroyed only after
 * ANSWER_YES.
 */
enum answer plan_read (struct plan *plan, const char *dir,
                       struct error *error);
void plan_destroy (struct plan *plan);

/* Is the manifest of READER, which has read the header, a part of this plan? */
bool plan_has (const struct plan *plan,
               const struct blkhash_manifest_reader *reader);

/* Store in *TEXT the text of a plan for the image of SOURCE, whose state has
 * the NAME of --state, or NULL.  The caller frees it.  Returns 0, or -1 with
 * the reason.
 */
int plan_format (const struct blkhash_opts *opts, uint32_t parts,
                 const struct source *source, const char *name, char **text,
                 struct error *error);

/* Write and sync TEXT as the plan in DIR, unless there is one by now: its text
 * can be another one.  Returns 0, or -1 with the reason.
 */
int plan_write (const char *dir, const char *text, struct error *error);

/* Check that TEXT is the text of PLAN, which is in DIR.  Returns 0, or -1 with
 * the reason.
 */
int plan_check (const struct plan *plan, const char *dir, const char *text,
                struct error *error);

/* Returns JOB_DIFFERS if the file "failed" is in DIR, because an audit found a
 * part that differs from the image; JOB_DONE if not.
 */
enum job_status plan_check_failed (const char *dir, struct error *error);

/* Add the line TEXT to the file "failed", and sync it.  Returns 0, or -1 with
 * the reason.
 */
int plan_set_failed (const char *dir, const char *text, struct error *error);

/* Returns the time until the times of the files of SOURCE show each later
 * modification, in ns: two modifications within the same tick of the clock have
 * the same time, so a time must be some seconds old.  Returns -1 if a time is
 * in the future, so that waiting does not help.
 */
long long plan_wait (const struct source *source);

#endif /* BLKSUM_PLAN_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file of a manifest that is not finished: whose it is, and what is in it.
 */

#ifndef BLKSUM_JOURNAL_FILE_H
#define BLKSUM_JOURNAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"
#include "job/state.h"

struct blkhash_manifest_reader;
struct blkhash_manifest_writer;
struct error;
struct progress_form;

struct journal_file {
  char *path;
  int fd;                       /* locked */
};

/* Open the file at PATH, which has no symbolic links and can be replaced, or
 * make an empty one, and lock it: nobody else does that until it is closed.  0,
 * or -1 with the reason, such as that it is in use.
 */
int journal_file_open (struct journal_file *file, const char *path,
                       struct error *error);

/* An empty one is removed. */
void journal_file_close (struct journal_file *file);

/* What is in it.  Nothing: there is not even a header. */
struct journal_found {
  struct blkhash_opts *opts;    /* how sums are made; NULL: nothing */
  uint64_t size;                /* of the image, bytes */
  bool part;                    /* it is of a part of the image */
  uint64_t blocks;              /* that it has, from the first on */
  uint64_t offset;              /* bytes: where its last whole record ends */
  char id[64];                  /* the key "journal", or empty */
  bool finished;
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* of one that is finished */
  unsigned md_len;
};

/* Look at all of it, with progress as FORM says.  0 with what FOUND frees, or
 * -1 with the reason: it cannot be read, or is of a later version.
 */
int journal_file_look (const struct journal_file *file,
                       const struct progress_form *form,
                       struct journal_found *found, struct error *error);
void journal_found_destroy (struct journal_found *found);

/* A reader of what is in it, with a descriptor *FD of its own.  NULL with the
 * reason.
 */
struct blkhash_manifest_reader *
journal_file_read (const struct journal_file *file, int *fd,
                   struct error *error);

/* Empty it, and begin anew, with the number ID; or go on behind what was found.
 * NULL with the reason.
 */
struct blkhash_manifest_writer *
journal_file_begin (const struct journal_file *file,
                    const struct blkhash_opts *opts, uint64_t size,
                    const char *id, struct error *error);
struct blkhash_manifest_writer *
journal_file_continue (const struct journal_file *file,
                       const struct journal_found *found,
                       struct error *error);

#endif /* BLKSUM_JOURNAL_FILE_H */

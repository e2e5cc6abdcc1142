/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file of an unfinished manifest: its lock and its content.  It can also
 * have a finished manifest, which was published under the same name.
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

/* Open the file at PATH, or create an empty one, and lock it until it is
 * closed.  The caller has resolved the symbolic links in PATH, and has checked
 * that the file may be replaced.  Returns 0, or -1 with the reason, for example
 * that another process has the lock.
 */
int journal_file_open (struct journal_file *file, const char *path,
                       struct error *error);

/* Close the file, and remove it if it is empty and was not replaced. */
void journal_file_close (struct journal_file *file);

/* The content of the file. */
struct journal_found {
  struct blkhash_opts *opts;    /* hash parameters; NULL: there is no header */
  uint64_t size;                /* size of the image, bytes */
  bool part;                    /* it is the manifest of a part of the image */
  uint64_t blocks;              /* number of blocks in the file */
  uint64_t offset;              /* end of the last complete record, bytes */
  char id[64];                  /* the value of the key "journal", or empty */
  bool finished;                /* it has the end record, with the sum */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* valid if finished */
  unsigned md_len;
};

/* Scan the whole file, and report progress in the form FORM.  Returns 0 with
 * FOUND; or -1 with the reason, for example that the header is invalid or of a
 * later version.  FOUND must be destroyed in any case.
 */
int journal_file_scan (const struct journal_file *file,
                       const struct progress_form *form,
                       struct journal_found *found, struct error *error);
void journal_found_destroy (struct journal_found *found);

/* Returns a reader of the file with its own descriptor, *FD, and the caller
 * releases both; or NULL with the reason.
 */
struct blkhash_manifest_reader *
journal_file_read (const struct journal_file *file, int *fd,
                   struct error *error);

/* Truncate the file, and write a header with ID as its key "journal"; or
 * truncate it after the last complete record, to append to it.  Returns NULL
 * with the reason on error.
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file of an unfinished manifest: its lock and its content.  After a run
 * that has finished, the file is the finished manifest, which was published
 * under the same name.
 */

#ifndef BLKSUM_JOURNAL_FILE_H
#define BLKSUM_JOURNAL_FILE_H

#include <stdint.h>

struct blkhash_manifest_reader;
struct blkhash_manifest_writer;
struct blkhash_opts;
struct error;
struct progress;

struct journal_file {
  char *path;
  int fd;                       /* locked; used for writing */
  int read_fd;                  /* of the reader, or -1 */
  struct blkhash_manifest_reader *reader; /* NULL if the file has no header */
  struct blkhash_manifest_writer *writer; /* NULL before the first write */
  uint64_t blocks;              /* the file has blocks 0 to BLOCKS - 1 */
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

/* Scan the whole file, and report the PROGRESS.  Sets file->blocks
 * and file->reader, which is at its end then.  Returns 0, also if the file has
 * no header, which leaves file->reader NULL; or -1 with the reason, for example
 * that the header is invalid or of a later version.
 */
int journal_file_scan (struct journal_file *file,
                       const struct progress *progress, struct error *error);

/* Truncate the file, and write a header with ID as the value of its key
 * "journal".  Frees the reader.  A file that other users can read is replaced
 * by one that only its owner can read.  Returns 0, or -1 with the reason.
 */
int journal_file_begin (struct journal_file *file,
                        const struct blkhash_opts *opts, uint64_t size,
                        const char *id, struct error *error);

/* After a scan: rewind the reader, and truncate the file after its last
 * complete record, so that records can be appended.  Returns 0, or -1 with the
 * reason; if the reader cannot be rewound, the file is unchanged.
 */
int journal_file_continue (struct journal_file *file, struct error *error);

#endif /* BLKSUM_JOURNAL_FILE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Convert the messages of a failed program of qemu to an error for the user.
 */

#ifndef BLKSUM_QEMU_H
#define BLKSUM_QEMU_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "util/error.h"

struct error;

/* Replace ERROR by MESSAGES, lines that the program printed.  TARGETS is a
 * NULL-terminated array of the program's arguments that name the image.  In the
 * messages NAME replaces these arguments, which the user does not know.  If
 * IS_OPERAND is set, the caller prints NAME before the error in any case, so
 * text such as "Could not open 'NAME': " is removed.
 *
 * ERROR is not replaced if MESSAGES is empty, or only reports that this process
 * disconnected.
 */
void qemu_message_refine_error (struct error *error, const char *messages,
                                const char *const *targets, const char *name,
                                bool is_operand);

/* Run another program and read its output.
 */

/* Called by a child of the process PARENT between fork and exec.  On Linux the
 * child is then killed when the thread that forked it ends.  SIGPIPE gets its
 * default action, and all signals except SIGUSR1 are unblocked: until exec the
 * child has the name of this program, and a SIGUSR1 that is sent by name, to
 * request the progress, would kill it.  exec closes all descriptors above 2.
 * Async-signal-safe.
 */
void process_prepare_child (pid_t parent);

/* Returns the paths at which PROGRAM can be, by PATH: strings, each with its
 * terminating zero, and an empty one at the end.  Returns NULL with errno set
 * on error.  The caller frees them.
 */
char *process_paths (const char *program);

/* Run the first program of PATHS that exists and is executable.  Returns only
 * on error, with errno set.  Async-signal-safe, unlike execvp.
 */
void process_exec (const char *paths, char *const argv[], char *const env[]);

/* Run ARGV, found in PATH, without a shell and without input, and store its
 * stdout, a string, in *OUTPUT.  Returns 0; or -1 with the reason in ERROR, and
 * *OUTPUT unchanged.  If the program ran but failed, *MESSAGES is its stderr,
 * or NULL if it printed nothing there; otherwise *MESSAGES is NULL.  The caller
 * frees both strings.
 *
 * File descriptors 0, 1 and 2 of this process must be open.
 */
int process_run (char *const argv[], char **output, char **messages,
                 struct error *error);

/* The files that another process has open.
 */

/* The descriptors of a program that is executed after a call of
 * open_files_limit are below this number, unless it inherited a higher one.
 */
#define OPEN_FILES_MAX 256

/* Limit the descriptors of this process.  Returns 0, or -1 with errno set.
 * Async-signal-safe.
 */
int open_files_limit (void);

/* Call VISIT for each file that PID, a child with this limit, has open.
 * Returns 0, or -1 with errno set if these files cannot be determined.
 */
int open_files_visit (pid_t pid,
                      void (*visit) (void *opaque, const struct stat *st),
                      void *opaque);

/* A qemu-nbd process that serves one image over one connection.
 */

struct error;

/* The path with which qemu-nbd opens an image whose descriptor it inherited, if
 * /proc is mounted.
 */
#define QEMU_NBD_IMAGE_PATH "/proc/self/fd/4"

struct qemu_nbd {
  pid_t pid;
  int sock;                     /* the connection; -1 when the caller took it */
  int messages;                 /* read end of the pipe to which qemu-nbd prints
                                 * errors */
};

/* Run qemu-nbd with the arguments ARGV, the first of which is its name.  It
 * inherits a listening socket, to which QEMU->sock is connected, and IMAGE_FD
 * as descriptor 4, unless IMAGE_FD is -1.  If it inherits IMAGE_FD, it needs no
 * other file, so the number of its descriptors is limited, as open_files_visit
 * requires.
 *
 * If this process ends, qemu-nbd ends too.  On Linux it already ends when the
 * thread that called this function ends.  No socket is left, because its name
 * is removed before qemu-nbd runs.  Thread-safe.  Returns 0, or -1 with the
 * reason in ERROR.
 */
int qemu_nbd_start (struct qemu_nbd *qemu, char *const argv[], int image_fd,
                    struct error *error);

/* Replace ERROR by the reason that qemu-nbd printed before it failed, if any.
 * Waits until qemu-nbd ends, for some seconds at most.  TARGET is the argument
 * of qemu-nbd that names the image: NAME replaces it in the reason, and also
 * replaces QEMU_NBD_IMAGE_PATH.
 */
void qemu_nbd_refine_error (struct qemu_nbd *qemu, const char *target,
                            const char *name, struct error *error);

/* Check that qemu-nbd, which inherited an image, has opened no regular file or
 * block device other than the one that IMAGE describes.  Returns 0; or -1 with
 * the reason if it has, or if this cannot be determined.
 */
int qemu_nbd_check_files (const struct qemu_nbd *qemu, const struct stat *image,
                          struct error *error);

/* Check that qemu-nbd has not ended.  Returns 0 or -1. */
int qemu_nbd_check_running (const struct qemu_nbd *qemu, struct error *error);

/* Close the connection, unless the caller took it, and end qemu-nbd. */
void qemu_nbd_stop (struct qemu_nbd *qemu);

#endif /* BLKSUM_QEMU_H */

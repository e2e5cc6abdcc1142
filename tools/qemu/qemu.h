/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The programs of qemu: qemu-img, whose output is read, and qemu-nbd, which
 * serves an image; and the errors that they print.
 */

#ifndef BLKSUM_QEMU_H
#define BLKSUM_QEMU_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct stat;

/* ---- A program ---- */

#define PROCESS_FDS 5           /* maximum number of descriptors */

struct process {
  char *const *argv;            /* the program, found in PATH, and arguments */
  char *const *environment;
  int nr_fds;                   /* the number of its descriptors */
  int fds[PROCESS_FDS];         /* its descriptors 0, 1 and so on are copies of
                                 * these; -1 is /dev/null */
  int status;                   /* the write end of a pipe, which exec closes.
                                 * If the program cannot be run, a struct
                                 * process_failure is written to it; or -1 */
  bool limit_fds;               /* limit the numbers of descriptors that the
                                 * program can open to PROCESS_MAX_FDS */
  /* Called first in the child, which does not die with its parent yet.  Returns
   * NULL; or, with errno set, what failed, as in struct process_failure.
   * Async-signal-safe.  Or NULL.
   */
  const char *(*prepare) (void *opaque);
  void *opaque;
};

#define PROCESS_MAX_FDS 256

/* Why a program could not be run: errno, and what failed: a string literal,
 * which has the same address in the child.
 */
struct process_failure {
  long err;                     /* so that no byte is padding */
  const char *what;
};

/* Fork, and run the program without a shell.  It inherits no other descriptors.
 * On Linux it is killed when the thread that called this function ends.
 * SIGPIPE has its default action in it, and all signals except SIGUSR1 are
 * unblocked: until exec the child has the name of this program, and a SIGUSR1
 * that is sent by name, to request the progress, would kill it.
 *
 * File descriptors 0, 1 and 2 of this process must be open.  Thread-safe.
 * Returns the process id, or -1 with errno set.
 */
pid_t process_start (const struct process *process);

/* Run the first program of PATHS, strings with an empty one at the end, that
 * exists and is executable.  Returns only on error, with errno set.
 * Async-signal-safe, unlike execvp.
 */
void process_exec (const char *paths, char *const argv[], char *const env[]);

/* Run ARGV without input, and store its stdout, a string, in *OUTPUT.  Returns
 * 0; or -1 with the reason in ERROR, and *OUTPUT unchanged.  If the program ran
 * but failed, *MESSAGES is its stderr, or NULL if it printed nothing there;
 * otherwise *MESSAGES is NULL.  The caller frees both strings.  The output can
 * depend on an untrusted image, so its size is limited.  Thread-safe.
 */
int process_run (char *const argv[], char **output, char **messages,
                 struct error *error);

/* ---- Messages ---- */

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

/* ---- qemu-nbd ---- */

/* The path with which qemu-nbd opens an image whose descriptor it inherited, if
 * /proc is mounted.
 */
#define QEMU_NBD_IMAGE_PATH "/proc/self/fd/4"

/* A qemu-nbd process that serves one image over one connection. */
struct qemu_nbd {
  pid_t pid;
  int sock;                     /* the connection; -1 when the caller took it */
  int messages;                 /* read end of the pipe to which qemu-nbd prints
                                 * errors */
};

/* Run qemu-nbd with the arguments ARGV, the first of which is its name.  It
 * inherits a listening socket, to which QEMU->sock is connected, and IMAGE_FD
 * as descriptor 4, unless IMAGE_FD is -1.  If it inherits IMAGE_FD, it needs no
 * other file, so the number of its descriptors is limited, as
 * qemu_nbd_check_files requires.
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file system that forgets and lies, for test-power-cuts.py: a directory
 * without directories, which is in memory while it is mounted.
 *
 *   forgetful-fs [OPTION]... DIRECTORY MOUNTPOINT
 *
 *   -k KEEP   which changes that were not synced are kept after an unmount or
 *             a cut: see enum keep; the default is all
 *   -s SEED   of the changes that are kept, and of wrong bytes
 *   -c N      cut the power in the Nth change
 *   -f N      the Nth change fails; with -r the Nth read; with -a all later
 *             reads and changes fail too
 *   -w N      the Nth read returns wrong bytes
 *   -x NAME   reads of this file are neither counted nor wrong
 *   -n        names cannot be exchanged, and other flags of renameat2 are not
 *             supported either
 *   -d MS     each change takes so many milliseconds
 *   -l FILE   log each change and each read
 *
 * A change is a create, write, truncate, allocate, link, rename, unlink or sync; a
 * read is an open or a read.  After a cut the program writes what is durable to
 * DIRECTORY, unmounts, and exits with status 3.  A sync that fails loses what
 * was not synced, as in Linux.  Files cannot be listed or linked.
 */

#define FUSE_USE_VERSION 35

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "forgetful-store.h"

#define CUT_STATUS 3
#define TIMEOUT 3600.0          /* seconds; nothing changes behind the kernel */

static struct {
  enum keep keep;
  uint64_t seed;
  long cut, fail, wrong;        /* 0: never */
  bool fail_reads, all_later, no_flags;
  const char *exempt;
  long delay;                   /* ms */
  FILE *log;
  const char *directory;
} options = { .keep = KEEP_ALL };

static struct fuse_session *session;
static long changes, reads;     /* so far */
static bool failing;            /* all operations fail */

/* ---- Faults ---- */

static void
log_line (const char *what, long number, const char *name,
          unsigned long long size)
{
  if (options.log)
    fprintf (options.log, "%s %ld %s %llu\n", what, number, name, size);
}

static bool
fails (bool is_read, long number)
{
  if (options.fail_reads == is_read && number == options.fail)
    failing = options.all_later;
  else if (!failing)
    return false;
  log_line ("fail", number, is_read ? "read" : "change", 0);
  return true;
}

/* Begin a change.  Returns true if it fails; then the reply was sent. */
static bool
change_fails (fuse_req_t req, const char *what, const char *name,
              unsigned long long size)
{
  const struct timespec delay = {
    options.delay / 1000, options.delay % 1000 * 1000000
  };

  changes++;
  log_line (what, changes, name, size);
  if (options.delay > 0)
    nanosleep (&delay, NULL);
  if (!fails (false, changes))
    return false;
  fuse_reply_err (req, EIO);
  return true;
}

/* Called after a change was made, but before it is acknowledged, or made
 * durable.
 */
static void
cut_if_due (void)
{
  if (changes != options.cut)
    return;
  store_save (options.directory, options.keep, options.seed);
  if (options.log)
    fflush (options.log);
  fuse_session_unmount (session);
  _exit (CUT_STATUS);
}

static bool
is_exempt (const struct inode *inode)
{
  return options.exempt && inode == store_find (options.exempt);
}

static bool
read_fails (fuse_req_t req, const char *what, const struct inode *inode)
{
  if (is_exempt (inode))
    return false;
  reads++;
  log_line (what, reads, store_name (inode), inode->now.size);
  if (!fails (true, reads))
    return false;
  fuse_reply_err (req, EIO);
  return true;
}

/* Wrong bytes: a bit, or a sector of zeros or of other data.  A sector that has
 * the same bytes already gets a wrong bit, because the job would see no fault.
 */
static void
spoil (char *bytes, size_t len)
{
  size_t at = nrand48 ((unsigned short[3]) {
                         options.seed, options.seed >> 16, reads }) % len;
  size_t sector = at / 512 * 512, n = len - sector < 512 ? len - sector : 512;
  char before[512];

  memcpy (before, bytes + sector, n);
  if (options.seed % 3 == 1)
    memset (bytes + sector, 0, n);
  else if (options.seed % 3 == 2)
    memmove (bytes + sector, bytes, n);
  if (memcmp (before, bytes + sector, n) == 0)
    bytes[at] ^= 1 << at % 8;
  log_line ("wrong", reads, "-", at);
}

/* ---- Attributes ---- */

static struct stat
attributes (const struct inode *inode)
{
  struct stat st = { .st_ino = FUSE_ROOT_ID, .st_mode = S_IFDIR | 0755,
                     .st_uid = geteuid (), .st_gid = getegid () };

  if (inode) {
    st = inode->st;
    st.st_size = inode->now.size;
    st.st_blocks = (st.st_size + 511) / 512;
  }
  return st;
}

static struct fuse_entry_param
entry (const struct inode *inode)
{
  return (struct fuse_entry_param) {
    .ino = inode->st.st_ino, .attr = attributes (inode),
    .attr_timeout = TIMEOUT, .entry_timeout = TIMEOUT
  };
}

static void
fs_getattr (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  const struct stat st = attributes (store_find_number (ino));

  (void) fi;
  fuse_reply_attr (req, &st, TIMEOUT);
}

static void
fs_setattr (fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
            struct fuse_file_info *fi)
{
  struct inode *inode = store_find_number (ino);

  if (!inode) {
    fuse_reply_err (req, EPERM);
    return;
  }
  if (to_set & FUSE_SET_ATTR_MODE)
    inode->st.st_mode = S_IFREG | (attr->st_mode & 07777);
  if (to_set & FUSE_SET_ATTR_SIZE) {
    if (change_fails (req, "truncate", store_name (inode), attr->st_size))
      return;
    store_resize (inode, attr->st_size);
    cut_if_due ();
  }
  fs_getattr (req, ino, fi);
}

/* ---- Names ---- */

static void
fs_lookup (fuse_req_t req, fuse_ino_t parent, const char *name)
{
  const struct inode *inode = store_find (name);
  struct fuse_entry_param e = { .entry_timeout = TIMEOUT };

  (void) parent;
  if (inode)
    e = entry (inode);
  fuse_reply_entry (req, &e);
}

static void
fs_create (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
           struct fuse_file_info *fi)
{
  struct fuse_entry_param e;

  (void) parent;
  if (change_fails (req, "create", name, 0))
    return;
  e = entry (store_create (name, mode));
  cut_if_due ();
  fuse_reply_create (req, &e, fi);
}

static void
fs_link (fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
  struct inode *inode = store_find_number (ino);
  struct fuse_entry_param e;

  (void) parent;
  if (change_fails (req, "link", name, 0))
    return;
  store_link (name, inode);
  cut_if_due ();
  e = entry (inode);
  fuse_reply_entry (req, &e);
}

static void
fs_readdir (fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
            struct fuse_file_info *fi)
{
  char buf[65536];
  size_t used = 0;
  const char *name;

  (void) ino;
  (void) fi;
  if (size > sizeof buf)
    size = sizeof buf;
  for (; (name = store_name_at (offset)); offset++) {
    size_t n = fuse_add_direntry (req, buf + used, size - used, name,
                                  &store_find (name)->st, offset + 1);

    if (n > size - used)
      break;
    used += n;
  }
  fuse_reply_buf (req, buf, used);
}

static void
fs_rename (fuse_req_t req, fuse_ino_t parent, const char *name,
           fuse_ino_t newparent, const char *newname, unsigned flags)
{
  (void) parent;
  (void) newparent;
  /* The kernel checks what RENAME_NOREPLACE asks for. */
  if (flags && (options.no_flags ||
                (flags & ~(RENAME_EXCHANGE | RENAME_NOREPLACE)))) {
    fuse_reply_err (req, EINVAL);
    return;
  }
  if (change_fails (req, "rename", newname, 0))
    return;
  if (flags & RENAME_EXCHANGE)
    store_exchange (name, newname);
  else
    store_rename (name, newname);
  cut_if_due ();
  fuse_reply_err (req, 0);
}

static void
fs_unlink (fuse_req_t req, fuse_ino_t parent, const char *name)
{
  (void) parent;
  if (change_fails (req, "unlink", name, 0))
    return;
  store_unlink (name);
  cut_if_due ();
  fuse_reply_err (req, 0);
}

/* ---- Files ---- */

static void
fs_open (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct inode *inode = store_find_number (ino);

  if (read_fails (req, "open", inode))
    return;
  if (fi->flags & O_TRUNC) {
    if (change_fails (req, "truncate", store_name (inode), 0))
      return;
    store_resize (inode, 0);
    cut_if_due ();
  }
  fuse_reply_open (req, fi);
}

static void
fs_read (fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
         struct fuse_file_info *fi)
{
  const struct inode *inode = store_find_number (ino);
  size_t end = inode->now.size, len;
  char *bytes;

  (void) fi;
  len = off >= end ? 0 : end - off < size ? end - off : size;
  if (read_fails (req, "read", inode))
    return;
  bytes = malloc (len + 1);
  if (!bytes)
    err (1, "read");
  if (len > 0)
    memcpy (bytes, inode->now.bytes + off, len);
  if (len > 0 && reads == options.wrong && !is_exempt (inode))
    spoil (bytes, len);
  fuse_reply_buf (req, bytes, len);
  free (bytes);
}

static void
fs_write (fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
          off_t off, struct fuse_file_info *fi)
{
  struct inode *inode = store_find_number (ino);

  if (change_fails (req, "write", store_name (inode), size))
    return;
  store_write (inode, off, buf, size);
  cut_if_due ();
  if (fi->flags & (O_SYNC | O_DSYNC))
    store_sync (inode);
  fuse_reply_write (req, size);
}

static void
fs_fallocate (fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
              off_t length, struct fuse_file_info *fi)
{
  struct inode *inode = store_find_number (ino);
  uint64_t end = offset + length;

  (void) fi;
  if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE |
               FALLOC_FL_ZERO_RANGE)) {
    fuse_reply_err (req, EOPNOTSUPP);
    return;
  }
  if (change_fails (req, "allocate", store_name (inode), length))
    return;
  if (!(mode & FALLOC_FL_KEEP_SIZE) && end > inode->now.size)
    store_resize (inode, end);
  if (end > inode->now.size)
    end = inode->now.size;
  if ((mode & ~FALLOC_FL_KEEP_SIZE) && end > offset)
    store_write (inode, offset, NULL, end - offset);
  cut_if_due ();
  fuse_reply_err (req, 0);
}

static void
fs_fsync (fuse_req_t req, fuse_ino_t ino, int datasync,
          struct fuse_file_info *fi)
{
  struct inode *inode = store_find_number (ino);

  (void) datasync;
  (void) fi;
  if (change_fails (req, "sync", store_name (inode), inode->now.size)) {
    log_line ("lost", changes, store_name (inode), inode->now.size);
    store_lose (inode);
    return;
  }
  cut_if_due ();
  store_sync (inode);
  fuse_reply_err (req, 0);
}

static void
fs_fsyncdir (fuse_req_t req, fuse_ino_t ino, int datasync,
             struct fuse_file_info *fi)
{
  (void) ino;
  (void) datasync;
  (void) fi;
  if (change_fails (req, "sync-names", "-", 0))
    return;
  cut_if_due ();
  store_sync_names ();
  fuse_reply_err (req, 0);
}

static const struct fuse_lowlevel_ops ops = {
  .lookup = fs_lookup, .getattr = fs_getattr, .setattr = fs_setattr,
  .create = fs_create, .link = fs_link, .rename = fs_rename,
  .unlink = fs_unlink, .readdir = fs_readdir,
  .open = fs_open, .read = fs_read, .write = fs_write,
  .fallocate = fs_fallocate, .fsync = fs_fsync, .fsyncdir = fs_fsyncdir,
};

/* ---- The program ---- */

static const char *
parse (int argc, char *argv[])
{
  int c;

  while ((c = getopt (argc, argv, "ac:d:f:k:l:nrs:w:x:")) != -1)
    switch (c) {
    case 'a': options.all_later = true; break;
    case 'c': options.cut = atol (optarg); break;
    case 'd': options.delay = atol (optarg); break;
    case 'f': options.fail = atol (optarg); break;
    case 'k': options.keep = store_keep_from_name (optarg); break;
    case 'l': options.log = fopen (optarg, "w"); break;
    case 'n': options.no_flags = true; break;
    case 'r': options.fail_reads = true; break;
    case 's': options.seed = strtoull (optarg, NULL, 10); break;
    case 'w': options.wrong = atol (optarg); break;
    case 'x': options.exempt = optarg; break;
    default: exit (2);
    }
  if (argc - optind != 2 || options.keep == KEEP_INVALID)
    errx (2, "see the comment in its source");
  if (options.log)
    setlinebuf (options.log);
  options.directory = argv[optind];
  return argv[optind + 1];
}

int
main (int argc, char *argv[])
{
  char *fuse_argv[] = { argv[0], "-o", "fsname=forgetful", NULL };
  struct fuse_args args = FUSE_ARGS_INIT (3, fuse_argv);
  const char *mountpoint = parse (argc, argv);

  /* If the test is killed, it must not leave a mount. */
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  store_load (options.directory);
  session = fuse_session_new (&args, &ops, sizeof ops, NULL);
  if (!session || fuse_set_signal_handlers (session) == -1 ||
      fuse_session_mount (session, mountpoint) == -1)
    errx (1, "cannot mount %s", mountpoint);
  puts ("mounted");
  fflush (stdout);
  fuse_session_loop (session);
  store_save (options.directory, options.keep, options.seed);
  fuse_session_unmount (session);
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/loop.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "repair/writers.h"
#include "util/error.h"

#define PATH_SIZE 128

static void
format_path (char path[PATH_SIZE], dev_t dev, const char *folder,
             const char *name)
{
  snprintf (path, PATH_SIZE, "/sys/dev/block/%u:%u/%s%s", major (dev),
            minor (dev), folder, name);
}

/* ---- Attributes ---- */

bool
block_device_exists (dev_t dev)
{
  char path[PATH_SIZE];

  format_path (path, dev, "", "");
  return access (path, F_OK) == 0;
}

/* Store the file PATH in TEXT, relative to the directory AT if PATH is, and at
 * most SIZE - 1 bytes.
 */
static bool
read_text (int at, const char *path, char *text, size_t size)
{
  int fd = openat (at, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd == -1 ? -1 : read (fd, text, size - 1);

  if (fd != -1)
    close (fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

static bool
read_attribute (dev_t dev, const char *folder, const char *name, char *text,
                size_t size)
{
  char path[PATH_SIZE];

  format_path (path, dev, folder, name);
  if (!read_text (AT_FDCWD, path, text, size))
    return false;
  text[strcspn (text, "\n")] = '\0';
  return true;
}

bool
block_device_attribute (dev_t dev, const char *name, char *text, size_t size)
{
  return read_attribute (dev, "", name, text, size);
}

bool
block_device_disk_attribute (dev_t dev, const char *name, char *text,
                             size_t size)
{
  return read_attribute (dev, "", name, text, size) ||
    read_attribute (dev, "../", name, text, size);
}

/* ---- Other devices ---- */

/* Read a device number, such as "7:0", from the file PATH into *DEV.  Returns
 * false if that fails.
 */
static bool
read_number (int at, const char *path, dev_t *dev)
{
  unsigned major_number, minor_number;
  char text[32];

  if (!read_text (at, path, text, sizeof text) ||
      sscanf (text, "%u:%u", &major_number, &minor_number) != 2)
    return false;
  *dev = makedev (major_number, minor_number);
  return true;
}

/* Returns the disk that has the partition DEV, or DEV if it is not a
 * partition.
 */
static dev_t
whole_device (dev_t dev)
{
  char path[PATH_SIZE], text[32];
  dev_t whole;

  format_path (path, dev, "../", "dev");
  return read_attribute (dev, "", "partition", text, sizeof text) &&
    read_number (AT_FDCWD, path, &whole) ? whole : dev;
}

DIR *
block_device_slaves (dev_t dev)
{
  char path[PATH_SIZE];

  format_path (path, dev, "", "slaves");
  if (access (path, F_OK) == -1)
    format_path (path, dev, "../", "slaves");
  return opendir (path);
}

bool
block_device_next (DIR *list, dev_t *dev)
{
  char path[NAME_MAX + sizeof "/dev"];
  struct dirent *entry;

  while (list && (entry = readdir (list))) {
    snprintf (path, sizeof path, "%s/dev", entry->d_name);
    if (entry->d_name[0] != '.' && read_number (dirfd (list), path, dev))
      return true;
  }
  if (list)
    closedir (list);
  return false;
}

/* ---- Opening ---- */

/* Store the path of the device node of DEV below /dev in NODE, which has room
 * for SIZE bytes.  Returns false if /sys has no name for DEV.
 */
static bool
find_node (dev_t dev, char *node, size_t size)
{
  char path[PATH_SIZE], text[1024], name[PATH_SIZE];
  const char *line;

  format_path (path, dev, "", "uevent");
  line = read_text (AT_FDCWD, path, text, sizeof text)
    ? strstr (text, "DEVNAME=") : NULL;
  if (!line || sscanf (line, "DEVNAME=%127s", name) != 1)
    return false;
  snprintf (node, size, "/dev/%s", name);
  return true;
}

int
block_device_open (dev_t dev, int flags)
{
  char node[PATH_SIZE + sizeof "/dev/"];
  struct stat st;
  int fd;

  if (!find_node (dev, node, sizeof node)) {
    errno = ENOENT;
    return -1;
  }
  fd = open (node, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
  if (fd != -1 &&
      (fstat (fd, &st) == -1 || !S_ISBLK (st.st_mode) || st.st_rdev != dev)) {
    close (fd);
    fd = -1;
    errno = ENOENT;
  }
  return fd;
}

/* ---- Loop devices ---- */

/* If the backing file is a regular file, Linux reports the device of its file
 * system both as lo_device and as lo_rdevice.
 */
bool
block_device_loop_file (int fd, struct disk_file *file)
{
  struct loop_info64 info = { .lo_number = 0 };

  if (ioctl (fd, LOOP_GET_STATUS64, &info) == -1)
    return false;
  *file = (struct disk_file) {
    .device = info.lo_rdevice == info.lo_device ? 0 : info.lo_rdevice,
    .dev = info.lo_device, .ino = info.lo_inode
  };
  return true;
}

uint64_t
block_device_loop_start (dev_t dev)
{
  char offset[32] = "0", sectors[32] = "0";

  block_device_disk_attribute (dev, "loop/offset", offset, sizeof offset);
  block_device_attribute (dev, "start", sectors, sizeof sectors);
  return strtoull (offset, NULL, 10) + strtoull (sectors, NULL, 10) * 512;
}

/* ---- Layers ---- */

static bool
have (const struct disk_layers *layers, const struct disk_file *file)
{
  for (size_t i = 0; i < layers->count; i++) {
    const struct disk_file *layer = &layers->layer[i];

    if (file->device ? layer->device == file->device
        : !layer->device && layer->dev == file->dev && layer->ino == file->ino)
      return true;
  }
  return false;
}

/* Add FILE, and all devices and files that it is built on; the backing file of
 * a loop device directly after it.  FD is open on FILE, or -1.
 */
static void
add_layer (struct disk_layers *layers, const struct disk_file *file, int fd)
{
  struct disk_file below;
  DIR *slaves;
  int own;

  if (have (layers, file))
    return;
  if (layers->count == MAX_DISK_LAYERS) {
    layers->incomplete = true;
    return;
  }
  layers->layer[layers->count++] = *file;
  if (!file->device)
    return;
  own = fd == -1 ? block_device_open (file->device, 0) : -1;
  if ((fd != -1 || own != -1) &&
      block_device_loop_file (fd != -1 ? fd : own, &below))
    add_layer (layers, &below, -1);
  if (own != -1)
    close (own);
  slaves = block_device_slaves (file->device);
  below = (struct disk_file) { .device = 0 };
  while (block_device_next (slaves, &below.device))
    add_layer (layers, &below, -1);
}

void
disk_layers_init (struct disk_layers *layers, int fd, const struct stat *st)
{
  const struct disk_file disk = {
    .device = S_ISBLK (st->st_mode) ? st->st_rdev : 0,
    .dev = st->st_dev, .ino = st->st_ino
  };
  struct disk_file file;

  *layers = (struct disk_layers) { .same = 1 };
  add_layer (layers, &disk, fd);
  if (disk.device && whole_device (disk.device) == disk.device &&
      block_device_loop_file (fd, &file))
    layers->same = 2;
}

/* Returns true if FILE is one of LAYERS, a partition of one, or the disk of a
 * partition in LAYERS.  Two partitions of a disk do not overlap.
 */
static bool
layers_overlap (const struct disk_layers *layers, const struct disk_file *file)
{
  struct disk_file whole = { .device = 0 };

  if (have (layers, file))
    return true;
  if (!file->device)
    return false;
  whole.device = whole_device (file->device);
  if (have (layers, &whole))
    return true;
  for (size_t i = 0; i < layers->count; i++)
    if (layers->layer[i].device &&
        whole_device (layers->layer[i].device) == file->device)
      return true;
  return false;
}

/* Returns true if B, or the backing file of the loop device B, is one of A. */
static bool
have_disk (const struct disk_layers *a, const struct disk_layers *b)
{
  for (size_t i = 0; i < b->same; i++)
    if (have (a, &b->layer[i]))
      return true;
  return false;
}

bool
disk_layers_are_same (const struct disk_layers *a, const struct disk_layers *b)
{
  return a->incomplete || b->incomplete || have_disk (a, b) ||
    have_disk (b, a);
}

/* ---- The search ---- */

struct search {
  struct disk_layers layers;    /* of the disk; check_loops adds the loop
                                 * devices that are backed by these */
  struct error *error;
  unsigned long self;           /* our pid in this /proc */
  unsigned long pid;
  unsigned long thread;
  unsigned long read_thread;    /* last thread whose files were read, or 0 */
};

/* ---- Loop devices over the layers ---- */

static int
check_exclusive (dev_t loop, struct error *error)
{
  int fd = block_device_open (loop, O_EXCL);
  char node[PATH_MAX] = "?";

  if (fd != -1)
    close (fd);
  else if (errno == EBUSY) {
    find_node (loop, node, sizeof node);
    return error_set (error, "is in use: the loop device '%s' over it is "
                      "mounted, or in exclusive use", node);
  }
  return 0;
}

/* Returns true if LOOP is a loop device that is backed by one of LAYERS. */
static bool
is_over (const struct disk_layers *layers, dev_t loop)
{
  struct disk_file file;
  char text[16];
  bool found;
  int fd;

  if (!block_device_attribute (loop, "loop/backing_file", text, sizeof text))
    return false;
  fd = block_device_open (loop, 0);
  found = fd != -1 && block_device_loop_file (fd, &file) &&
    layers_overlap (layers, &file);
  if (fd != -1)
    close (fd);
  return found;
}

/* Add the loop devices that are over the layers, and check that they are not in
 * exclusive use.  A loop device is skipped if it, or one of its partitions, is
 * already a layer.  Such a loop device was added before; or it is the disk,
 * which target_open opened exclusively; or the disk is built on it, and the
 * device above it uses it exclusively.  The search is repeated, because loop
 * devices can be stacked on loop devices.
 */
static int
check_loops (struct disk_layers *layers, struct error *error)
{
  struct disk_file disk = { .device = 0 };
  size_t before;

  do {
    DIR *disks = opendir ("/sys/block");

    before = layers->count;
    while (block_device_next (disks, &disk.device)) {
      if (layers_overlap (layers, &disk) || !is_over (layers, disk.device))
        continue;
      add_layer (layers, &disk, -1);
      if (check_exclusive (disk.device, error) == -1) {
        closedir (disks);
        return -1;
      }
    }
  } while (layers->count > before);
  return 0;
}

/* ---- Reading ---- */

static bool
can_trace (void)
{
  struct __user_cap_header_struct header = {
    .version = _LINUX_CAPABILITY_VERSION_3
  };
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

  return syscall (SYS_capget, &header, data) == 0 &&
    (data[CAP_TO_INDEX (CAP_SYS_PTRACE)].effective &
     CAP_TO_MASK (CAP_SYS_PTRACE));
}

/* Handle the error ERR of reading PATH.  Returns 0 if it can be ignored, or -1
 * with the reason in the error of SEARCH.
 */
static int
fail (const struct search *search, const char *path, int err)
{
  if (err == ENOENT || err == ESRCH)
    return 0;
  if (err != EACCES && err != EPERM)
    return error_errno (search->error, err, "cannot find out whether it is in "
                        "use: cannot read %s", path);
  if (geteuid () != 0 || can_trace ())
    return 0;
  return error_set (search->error, "cannot find out whether it is in use: root "
                    "needs CAP_SYS_PTRACE to read %s", path);
}

/* Store the beginning of the file at PATH in TEXT, at most SIZE - 1 bytes.
 * Returns 0, or an errno value.
 */
static int
read_proc_text (const char *path, char *text, size_t size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd == -1 ? -1 : read (fd, text, size - 1);
  int err = n == -1 ? errno : 0;

  if (fd != -1)
    close (fd);
  text[n > 0 ? n : 0] = '\0';
  return err;
}

/* Call FUNCTION for each entry of the directory PATH whose name is a number,
 * until FUNCTION returns non-zero.
 */
static int
each_number (struct search *search, const char *path,
             int (*function) (struct search *search, unsigned long number))
{
  DIR *dir = opendir (path);
  struct dirent *entry;
  int r = 0;

  if (!dir)
    return fail (search, path, errno);
  while (r == 0 && (errno = 0, entry = readdir (dir))) {
    char *end;
    unsigned long number = strtoul (entry->d_name, &end, 10);

    if (end != entry->d_name && *end == '\0')
      r = function (search, number);
  }
  if (r == 0 && errno)
    r = fail (search, path, errno);
  closedir (dir);
  return r;
}

/* ---- Files ---- */

/* Store the open(2) flags of a file descriptor in *FLAGS.  Returns 0, or an
 * errno value.
 */
static int
read_flags (const char *folder, unsigned long fd, int *flags)
{
  char path[PATH_SIZE], text[256];
  const char *found;
  int err;

  snprintf (path, sizeof path, "%s/fdinfo/%lu", folder, fd);
  err = read_proc_text (path, text, sizeof text);
  found = strstr (text, "flags:");
  if (err == 0 && !found)
    err = ENOENT;               /* closed meanwhile */
  *flags = found ? strtoul (found + strlen ("flags:"), NULL, 8) : 0;
  return err;
}

/* Find the file of a file descriptor, without waiting for a network server
 * that does not respond.  Returns 0, or an errno value.
 */
static int
find_file (const char *folder, unsigned long fd, struct disk_file *file)
{
  char path[PATH_SIZE];
  struct statx stx;

  snprintf (path, sizeof path, "%s/fd/%lu", folder, fd);
  if (statx (AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
             &stx) == -1)
    return errno;
  *file = (struct disk_file) {
    .device = S_ISBLK (stx.stx_mode)
      ? makedev (stx.stx_rdev_major, stx.stx_rdev_minor) : 0,
    .dev = makedev (stx.stx_dev_major, stx.stx_dev_minor),
    .ino = stx.stx_ino
  };
  return 0;
}

static void
format_thread (const struct search *search, char folder[PATH_SIZE])
{
  snprintf (folder, PATH_SIZE, "/proc/%lu/task/%lu", search->pid,
            search->thread);
}

/* The current process has FILE, which overlaps a layer, open for writing. */
static int
refuse (const struct search *search, const struct disk_file *file)
{
  const struct disk_file *disk = &search->layers.layer[0];
  bool same = file->device ? file->device == disk->device
    : !disk->device && file->ino == disk->ino;
  char path[PATH_SIZE], name[32];

  snprintf (path, sizeof path, "/proc/%lu/comm", search->pid);
  if (read_proc_text (path, name, sizeof name) != 0)
    snprintf (name, sizeof name, "?");
  name[strcspn (name, "\n")] = '\0';
  return error_set (search->error, "is in use: process %lu (%s) has %s open "
                    "for writing", search->pid, name, same ? "it"
                    : "a device or file that overlaps it");
}

/* If statx(2) fails on an open file, other than with ENOMEM, ignore the file.
 * It cannot be a file to repair; it can be, for example, a FUSE file that only
 * its owner can access.
 */
static int
check_file (struct search *search, unsigned long fd)
{
  char folder[PATH_SIZE];
  struct disk_file file;
  int flags, err;

  format_thread (search, folder);
  err = read_flags (folder, fd, &flags);
  if (err)
    return fail (search, folder, err);
  if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
    return 0;
  err = find_file (folder, fd, &file);
  if (err)
    return err == ENOMEM ? fail (search, folder, err) : 0;
  return layers_overlap (&search->layers, &file) ? refuse (search, &file) : 0;
}

/* ---- Threads and processes ---- */

/* Returns true if SEARCH->thread shares its file descriptor table with the last
 * thread whose files were read.  If /proc is of another PID namespace, returns
 * false, because the thread ids in /proc mean nothing to kcmp(2) then.
 */
static bool
was_read (const struct search *search)
{
  return search->read_thread && search->self == (unsigned long) getpid () &&
    syscall (SYS_kcmp, (pid_t) search->read_thread, (pid_t) search->thread,
             KCMP_FILES, 0, 0) == 0;
}

static int
check_thread (struct search *search, unsigned long thread)
{
  char path[PATH_SIZE];

  search->thread = thread;
  if (was_read (search))
    return 0;
  search->read_thread = thread;
  snprintf (path, sizeof path, "/proc/%lu/task/%lu/fd", search->pid, thread);
  return each_number (search, path, check_file);
}

static int
check_process (struct search *search, unsigned long pid)
{
  char path[PATH_SIZE];

  if (pid == search->self)
    return 0;
  search->pid = pid;
  search->read_thread = 0;
  snprintf (path, sizeof path, "/proc/%lu/task", pid);
  return each_number (search, path, check_thread);
}

/* Returns true if /proc shows OWN_FD of this process; false if /proc is not
 * mounted, or is mounted for a PID namespace that this process is not in.
 */
static bool
shows_us (struct search *search, int own_fd)
{
  char number[32] = "", folder[PATH_SIZE];
  struct disk_file file;
  struct stat st;
  int flags;

  if (readlink ("/proc/self", number, sizeof number - 1) == -1)
    return false;
  search->self = strtoul (number, NULL, 10);
  snprintf (folder, sizeof folder, "/proc/%lu", search->self);
  return fstat (own_fd, &st) == 0 && find_file (folder, own_fd, &file) == 0 &&
    file.dev == st.st_dev && file.ino == st.st_ino &&
    read_flags (folder, own_fd, &flags) == 0;
}

/* ---- The disk ---- */

int
writers_check (int fd, const struct stat *st, struct error *error)
{
  struct search search = { .error = error };

  disk_layers_init (&search.layers, fd, st);
  if (check_loops (&search.layers, error) == -1)
    return -1;
  if (search.layers.incomplete)
    return error_set (error, "is made of too many devices");
  if (!shows_us (&search, fd))
    return error_set (error, "cannot find out whether it is in use: /proc does "
                      "not show the files of processes; mount it (mount -t "
                      "proc proc /proc)");
  return each_number (&search, "/proc", check_process);
}

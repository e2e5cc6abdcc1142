/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What of a directory survives a power cut.
 *
 * Each file has two contents: what programs read, and what is durable.  The
 * changes between the two are pending.  A sync of the file applies them to the
 * durable content, in their order; a cut applies some of them.  Names are the
 * same: there is a table of names that programs see, a durable one, and pending
 * changes, which a sync of the directory applies.  POSIX promises no more: a
 * sync of a new file does not make its name durable.
 *
 * Changes have numbers, for cuts after which the storage has a prefix of all
 * changes, as with a file system whose journal has data.  After other cuts
 * names can refer to data that is not there, and later changes can be there
 * without earlier ones.  A change of a name is never torn.
 *
 * There are no directories in the directory, and inodes are never freed.
 */

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "forgetful-store.h"

#define SECTOR 512              /* bytes; never torn */
#define FIRST_INO 2             /* 1 is the directory */

/* A change of a file, or of the names if NAME or OLD is set. */
struct change {
  struct change *next;
  uint64_t number;
  bool resize;                  /* to OFFSET; otherwise a write */
  uint64_t offset;
  size_t len;
  char *data;
  char *name, *old;             /* NAME gets INODE, whose name OLD is removed;
                                 * they can be NULL */
  struct inode *inode;
  struct inode *for_old;        /* OLD gets it, and is not removed, if it is not
                                 * NULL */
};

struct name {
  struct name *next;
  char *name;
  struct inode *inode;
};

static struct inode *inodes;
static struct name *names_now, *names_durable;
static struct change *pending_names, **pending_names_tail = &pending_names;
static uint64_t changes;        /* the number of the last one */
static ino_t last_ino = FIRST_INO - 1;

static void *
check (void *p)
{
  if (!p)
    err (1, "no memory");
  return p;
}

/* ---- Contents ---- */

static void
resize (struct content *content, size_t size)
{
  if (size > content->capacity) {
    content->capacity = size < 65536 ? 65536 : size * 2;
    content->bytes = check (realloc (content->bytes, content->capacity));
  }
  if (size > content->size)
    memset (content->bytes + content->size, 0, size - content->size);
  content->size = size;
}

static void
write_bytes (struct content *content, const struct change *change, size_t from,
             size_t to)
{
  if (change->offset + to > content->size)
    resize (content, change->offset + to);
  memcpy (content->bytes + change->offset + from, change->data + from,
          to - from);
}

static void
apply (struct content *content, const struct change *change)
{
  if (change->resize)
    resize (content, change->offset);
  else
    write_bytes (content, change, 0, change->len);
}

/* ---- Names ---- */

static struct name **
find (struct name **table, const char *name)
{
  struct name **p;

  for (p = table; *p && strcmp ((*p)->name, name) != 0; p = &(*p)->next)
    ;
  return p;
}

static void
set_name (struct name **table, const char *name, struct inode *inode)
{
  struct name **p = find (table, name);

  if (!*p) {
    *p = check (calloc (1, sizeof **p));
    (*p)->name = check (strdup (name));
  }
  (*p)->inode = inode;
}

static void
remove_name (struct name **table, const char *name)
{
  struct name **p = find (table, name), *gone = *p;

  if (gone) {
    *p = gone->next;
    free (gone->name);
    free (gone);
  }
}

/* A rename is atomic, also if earlier changes are lost. */
static void
apply_name (struct name **table, const struct change *change)
{
  if (change->for_old)
    set_name (table, change->old, change->for_old);
  else if (change->old && *find (table, change->old) &&
      (!change->inode || (*find (table, change->old))->inode == change->inode))
    remove_name (table, change->old);
  if (change->name)
    set_name (table, change->name, change->inode);
}

/* ---- Pending changes ---- */

static struct change *
add (struct change ***tail)
{
  struct change *change = check (calloc (1, sizeof *change));

  change->number = ++changes;
  **tail = change;
  *tail = &change->next;
  return change;
}

static void
change_name (const char *old, const char *name, struct inode *inode,
             struct inode *for_old)
{
  struct change *change = add (&pending_names_tail);

  change->old = old ? check (strdup (old)) : NULL;
  change->name = name ? check (strdup (name)) : NULL;
  change->inode = inode;
  change->for_old = for_old;
  apply_name (&names_now, change);
}

static void
free_changes (struct change **list, struct change ***tail)
{
  struct change *change;

  while ((change = *list)) {
    *list = change->next;
    free (change->data);
    free (change->name);
    free (change->old);
    free (change);
  }
  *tail = list;
}

void
store_sync (struct inode *inode)
{
  const struct change *change;

  for (change = inode->pending; change; change = change->next)
    apply (&inode->durable, change);
  store_lose (inode);
}

void
store_lose (struct inode *inode)
{
  free_changes (&inode->pending, &inode->pending_tail);
}

void
store_sync_names (void)
{
  const struct change *change;

  for (change = pending_names; change; change = change->next)
    apply_name (&names_durable, change);
  free_changes (&pending_names, &pending_names_tail);
}

/* ---- What programs see, and change ---- */

struct inode *
store_find (const char *name)
{
  struct name *found = *find (&names_now, name);

  return found ? found->inode : NULL;
}

struct inode *
store_find_number (ino_t ino)
{
  struct inode *inode;

  for (inode = inodes; inode && inode->st.st_ino != ino; inode = inode->next)
    ;
  return inode;
}

const char *
store_name_at (size_t n)
{
  const struct name *p = names_now;

  while (p && n-- > 0)
    p = p->next;
  return p ? p->name : NULL;
}

const char *
store_name (const struct inode *inode)
{
  const struct name *p;

  for (p = names_now; p && p->inode != inode; p = p->next)
    ;
  return p ? p->name : "-";
}

static struct inode *
new_inode (mode_t mode)
{
  struct inode *inode = check (calloc (1, sizeof *inode));

  inode->st.st_ino = ++last_ino;
  inode->st.st_mode = S_IFREG | (mode & 07777);
  inode->st.st_nlink = 1;
  inode->st.st_uid = geteuid ();
  inode->st.st_gid = getegid ();
  clock_gettime (CLOCK_REALTIME, &inode->st.st_mtim);
  inode->st.st_atim = inode->st.st_ctim = inode->st.st_mtim;
  inode->pending_tail = &inode->pending;
  inode->next = inodes;
  return inodes = inode;
}

struct inode *
store_create (const char *name, mode_t mode)
{
  struct inode *inode = new_inode (mode);

  change_name (NULL, name, inode, NULL);
  return inode;
}

void
store_link (const char *name, struct inode *inode)
{
  change_name (NULL, name, inode, NULL);
}

void
store_rename (const char *old, const char *new_name)
{
  change_name (old, new_name, store_find (old), NULL);
}

void
store_exchange (const char *a, const char *b)
{
  change_name (a, b, store_find (a), store_find (b));
}

void
store_unlink (const char *name)
{
  change_name (name, NULL, NULL, NULL);
}

static void
apply_now (struct inode *inode, const struct change *change)
{
  apply (&inode->now, change);
  clock_gettime (CLOCK_REALTIME, &inode->st.st_mtim);
  inode->st.st_ctim = inode->st.st_mtim;
}

void
store_resize (struct inode *inode, uint64_t size)
{
  struct change *change = add (&inode->pending_tail);

  change->resize = true;
  change->offset = size;
  apply_now (inode, change);
}

void
store_write (struct inode *inode, uint64_t offset, const char *data,
             size_t len)
{
  struct change *change = add (&inode->pending_tail);

  change->offset = offset;
  change->len = len;
  change->data = check (calloc (1, len));
  if (data)
    memcpy (change->data, data, len);
  apply_now (inode, change);
}

/* ---- A cut ---- */

static enum keep keep;
static uint64_t last_kept;      /* the last change of KEEP_ORDERED */
static uint64_t last_write;
static unsigned short random_state[3];

static uint64_t
random_below (uint64_t n)
{
  return (uint64_t) nrand48 (random_state) % n;
}

enum keep
store_keep_from_name (const char *name)
{
  static const char *const names[] = {
    "none", "all", "ordered", "last", "subset", "torn", "zeros"
  };
  size_t i;

  for (i = 0; i < KEEP_INVALID && strcmp (names[i], name) != 0; i++)
    ;
  return i;
}

/* Some of the sectors, aligned in the file: the first ones, or random ones. */
static void
tear (struct content *content, const struct change *change)
{
  size_t count = (change->offset % SECTOR + change->len) / SECTOR + 1, i;
  size_t first = random_below (2) ? random_below (count) : count;
  size_t from = 0, to;

  for (i = 0; from < change->len; i++, from = to) {
    to = (i + 1) * SECTOR - change->offset % SECTOR;
    if (to > change->len)
      to = change->len;
    if (first == count ? random_below (2) : i < first)
      write_bytes (content, change, from, to);
  }
}

static bool
is_kept (const struct change *change)
{
  switch (keep) {
  case KEEP_NONE:
    return false;
  case KEEP_ORDERED:
    return change->number <= last_kept;
  case KEEP_LAST:
    return !change->next;
  case KEEP_SUBSET:
    return random_below (2);
  default:
    return true;
  }
}

static bool
is_torn (const struct change *change)
{
  switch (keep) {
  case KEEP_ORDERED:
    return change->number == last_kept && random_below (2);
  case KEEP_SUBSET:
    return random_below (4) == 0;
  case KEEP_TORN:
    return change->number == last_write;
  default:
    return false;
  }
}

static void
keep_changes (struct inode *inode)
{
  struct content *durable = &inode->durable;
  const struct change *change;

  for (change = inode->pending; change; change = change->next) {
    if (!is_kept (change))
      continue;
    if (!change->resize && keep == KEEP_ZEROS) {
      if (change->offset + change->len > durable->size)
        resize (durable, change->offset + change->len);
    }
    else if (!change->resize && is_torn (change))
      tear (durable, change);
    else
      apply (durable, change);
  }
}

static void
cut (uint64_t seed)
{
  const struct change *change;
  struct inode *inode;

  random_state[0] = seed;
  random_state[1] = seed >> 16;
  random_state[2] = seed >> 32;
  last_kept = random_below (changes + 1);
  for (inode = inodes; inode; inode = inode->next)
    for (change = inode->pending; change; change = change->next)
      if (!change->resize && change->number > last_write)
        last_write = change->number;
  for (inode = inodes; inode; inode = inode->next)
    keep_changes (inode);
  for (change = pending_names; change; change = change->next)
    if (is_kept (change))
      apply_name (&names_durable, change);
}

/* ---- The directory below ---- */

static int
open_in (int dir, const char *name, int flags)
{
  int fd = openat (dir, name, flags, 0600);

  if (fd == -1)
    err (1, "%s", name);
  return fd;
}

static void
load (int dir, const char *name)
{
  int fd = open_in (dir, name, O_RDONLY);
  struct inode *inode;
  struct stat st;

  if (fstat (fd, &st) == -1 || !S_ISREG (st.st_mode))
    errx (1, "%s: not a regular file", name);
  inode = new_inode (st.st_mode);
  resize (&inode->now, st.st_size);
  if (read (fd, inode->now.bytes, st.st_size) != st.st_size)
    err (1, "%s", name);
  close (fd);
  resize (&inode->durable, st.st_size);
  if (st.st_size > 0)
    memcpy (inode->durable.bytes, inode->now.bytes, st.st_size);
  set_name (&names_now, name, inode);
  set_name (&names_durable, name, inode);
}

/* Calls VISIT for each file in DIRECTORY. */
static int
each_file (const char *directory, void (*visit) (int dir, const char *name))
{
  DIR *d = opendir (directory);
  const struct dirent *entry;

  if (!d)
    err (1, "%s", directory);
  while ((entry = readdir (d)))
    if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
      visit (dirfd (d), entry->d_name);
  return dirfd (d);
}

void
store_load (const char *directory)
{
  each_file (directory, load);
}

static void
remove_file (int dir, const char *name)
{
  if (unlinkat (dir, name, 0) == -1)
    err (1, "%s", name);
}

static void
save (int dir, const struct name *name)
{
  const struct content *content = &name->inode->durable;
  int fd;

  fd = open_in (dir, name->name, O_WRONLY | O_CREAT | O_EXCL);
  if (write (fd, content->bytes, content->size) != content->size ||
      fchmod (fd, name->inode->st.st_mode & 07777) == -1)
    err (1, "%s", name->name);
  close (fd);
}

void
store_save (const char *directory, enum keep what, uint64_t seed)
{
  const struct name *name;
  int dir;

  keep = what;
  cut (seed);
  dir = each_file (directory, remove_file);
  for (name = names_durable; name; name = name->next)
    save (dir, name);
}

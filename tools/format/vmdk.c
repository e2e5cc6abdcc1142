/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check vmdk images: see formats.h.
 *
 * A sparse image is a header ("KDMV"), a text descriptor, a grain directory,
 * grain tables and grains: the directory has the offsets of the tables, and the
 * tables those of the grains.  qemu (7.2 and 9.0) uses the extents of the
 * descriptor only if the capacity in the header is 0, and then opens any file
 * that they name.  Otherwise the image itself is the only extent, whatever name
 * the extent line has: it is often the path of the image where it was made.
 * Whatever the capacity is, qemu searches for a parent in the 20 sectors after
 * the header, even if the header has another offset for the descriptor.
 *
 * So this check requires that the capacity is not 0, that the descriptor begins
 * in the first of these sectors, and that it has one extent line, of the type
 * SPARSE.  No parent may be named in the sectors that qemu searches, nor in the
 * rest of the descriptor, which qemu ignores: without its parent the image
 * would be another disk.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "format/formats.h"
#include "format/imagefile.h"
#include "format/probe.h"

#define SECTOR 512
#define SEARCHED_SECTORS 20     /* number of sectors, from sector 1 on, in which
                                 * qemu searches for a parent */
#define MAX_DESCRIPTOR_SECTORS 2048 /* limit of blksum; qemu writes 20 */
#define GD_AT_END UINT64_MAX    /* this offset of the directory in the header
                                 * means that the footer has the real one */
#define CHUNK 65536             /* bytes of the directory in one read */

/* Limits of qemu. */
#define MAX_GRAIN_SECTORS UINT64_C (0x200000) /* 1 GiB */
#define MAX_TABLE_ENTRIES 512
#define MAX_TABLES (UINT64_C (32) << 20) /* number of grain tables */

/* A limit of blksum, 1 MiB.  For each read of a compressed grain, even a short
 * read, qemu allocates as much memory as three grains.  Programs that write
 * such images use grains of 64 KiB.
 */
#define MAX_COMPRESSED_GRAIN_SECTORS 2048

/* Flags. */
#define ZERO_GRAIN (UINT32_C (1) << 2)
#define MARKERS (UINT32_C (1) << 17)

struct vmdk {
  uint32_t flags;
  uint64_t capacity;            /* this field and the next four are in
                                 * sectors */
  uint64_t grain_sectors;
  uint64_t descriptor_offset;
  uint64_t descriptor_sectors;
  uint64_t directory_offset;
  uint32_t table_entries;
  bool compressed;
};

bool
vmdk_is_sparse (const unsigned char *head)
{
  return memcmp (head, "KDMV", 4) == 0;
}

bool
vmdk_is_cowd (const unsigned char *head)
{
  return memcmp (head, "COWD", 4) == 0;
}

int
vmdk_refuse_esx (const struct imagefile *file, const char *type,
                 struct error *error)
{
  return imagefile_error (file, error, "refused because it is a vmdk image of "
                          "the type %s, which cannot be read: "
                          FORMAT_CONVERT_HINT ", or use -f raw to hash the "
                          "bytes of this file", type, "vmdk");
}

static int
read_header (const struct imagefile *file, uint64_t offset,
             struct vmdk *vmdk, struct error *error)
{
  unsigned char head[79];

  if (imagefile_read (file, "the vmdk header", head, sizeof head, offset,
                      error) == -1)
    return -1;
  if (!vmdk_is_sparse (head))
    return imagefile_error (file, error, "the vmdk image is corrupt: there is "
                            "no header at offset %" PRIu64, offset);
  vmdk->flags = le32_at (head + 8);
  vmdk->capacity = le64_at (head + 12);
  vmdk->grain_sectors = le64_at (head + 20);
  vmdk->descriptor_offset = le64_at (head + 28);
  vmdk->descriptor_sectors = le64_at (head + 36);
  vmdk->table_entries = le32_at (head + 44);
  vmdk->directory_offset = le64_at (head + 56);
  vmdk->compressed = (head[77] | head[78] << 8) == 1;
  return 0;
}

/* ---- The descriptor of a sparse image ---- */

/* Set the error for an image whose data can be in other files. */
static int
refuse (const struct imagefile *file, const char *why, struct error *error)
{
  return imagefile_error (file, error, "refused because it is a vmdk image "
                          "%s: use -f vmdk to trust it and read what it "
                          "names, or -f raw to hash the bytes of this file",
                          why);
}

/* Set the error for a part of a split image.  VMware writes such parts without
 * room for a descriptor, and qemu with an empty one.
 */
static int
refuse_part (const struct imagefile *file, struct error *error)
{
  return imagefile_error (file, error, "refused because it is one part of a "
                          "split vmdk image: give the descriptor of the "
                          "image, which names all parts, with -f vmdk, or use "
                          "-f raw to hash the bytes of this file");
}

static bool
is_extent_line (const char *line)
{
  line += strspn (line, " \t\r\v\f");
  return strncmp (line, "RW", 2) == 0 || strncmp (line, "RDONLY", 6) == 0 ||
    strncmp (line, "NOACCESS", 8) == 0;
}

/* Returns true if the extent of LINE has the type SPARSE. */
static bool
is_sparse (const char *line)
{
  const char *name = strchr (line, '"');
  const char *type = strstr (line, " SPARSE ");

  return name && type && type < name;
}

/* Returns true if the descriptor TEXT names a parent, or has the content ID of
 * one.  Every occurrence of a key counts, as in qemu, which also finds one in a
 * comment; unlike in qemu, its case is ignored.
 */
static bool
has_parent (const char *text)
{
  static const char key[] = "parentCID";

  if (strcasestr (text, "parentFileNameHint"))
    return true;
  while ((text = strcasestr (text, key))) {
    text += strlen (key);
    text += strspn (text, " =");
    if (strncasecmp (text, "ffffffff", 8) != 0)
      return true;
  }
  return false;
}

/* Check the text of the descriptor.  TEXT is modified. */
static int
check_text (const struct imagefile *file, char *text, struct error *error)
{
  char *line, *rest = text;
  unsigned extents = 0;

  if (text[strspn (text, "\n")] == '\0')
    return refuse_part (file, error);
  if (!strcasestr (text, "parentCID"))
    return refuse (file, "whose descriptor does not say whether it has a "
                   "parent", error);
  if (has_parent (text))
    return refuse (file, "with a parent", error);

  while ((line = strsep (&rest, "\n")))
    if (is_extent_line (line) && (++extents > 1 || !is_sparse (line)))
      return refuse (file, "with data in other files", error);
  if (extents == 0)
    return refuse (file, "that names no extent", error);
  return 0;
}

/* Read the descriptor, of SECTORS, and the other sectors that qemu searches.
 * Returns a text, which the caller frees; or NULL on error.
 */
static char *
read_descriptor (const struct imagefile *file, uint64_t sectors,
                 struct error *error)
{
  size_t len = sectors * SECTOR, searched;
  char *text;

  if (imagefile_check (file, "the vmdk descriptor", SECTOR, len, error) == -1)
    return NULL;
  searched = MIN (SEARCHED_SECTORS * SECTOR, file->size - SECTOR);
  text = malloc (MAX (len, searched) + 1);
  if (!text) {
    imagefile_error (file, error, "out of memory");
    return NULL;
  }
  if (imagefile_read (file, "the vmdk descriptor", text, MAX (len, searched),
                      SECTOR, error) == -1) {
    free (text);
    return NULL;
  }
  /* qemu searches only until the first NUL.  But another program may find what
   * follows it in the descriptor.
   */
  text[MAX (len, strnlen (text, searched))] = '\0';
  for (size_t i = 0; i < len; i++)
    if (text[i] == '\0')
      text[i] = '\n';
  return text;
}

static int
check_descriptor (const struct imagefile *file, const struct vmdk *vmdk,
                  struct error *error)
{
  char *text;
  int r;

  if (vmdk->descriptor_offset == 0)
    return refuse_part (file, error);
  if (vmdk->descriptor_offset != 1 || vmdk->descriptor_sectors < 1)
    return refuse (file, "without a descriptor after its header", error);
  if (vmdk->descriptor_sectors > MAX_DESCRIPTOR_SECTORS)
    return refuse (file, "whose descriptor is larger than 1 MiB", error);
  text = read_descriptor (file, vmdk->descriptor_sectors, error);
  if (!text)
    return -1;
  r = check_text (file, text, error);
  free (text);
  return r;
}

int
vmdk_check_self_contained (const struct imagefile *file, struct error *error)
{
  struct vmdk vmdk;

  if (read_header (file, 0, &vmdk, error) == -1)
    return -1;
  if (vmdk.capacity == 0)
    return refuse (file, "with no size, so that its data is in other files",
                   error);
  return check_descriptor (file, &vmdk, error);
}

/* ---- The grains ---- */

struct grain_walk {
  const struct imagefile *file;
  struct vmdk vmdk;
  struct error *error;
  uint64_t directory_bytes;     /* size of the grain directory */
  uint64_t table_bytes;         /* total size of the grain tables read so far */
  unsigned char directory[CHUNK];
  unsigned char table[MAX_TABLE_ENTRIES * 4];
};

/* An image that was written as a stream ends with a footer, a second header
 * that replaces the first one.  qemu expects it two sectors before the end of
 * the file.
 */
static int
read_footer (struct grain_walk *w)
{
  uint64_t size = w->file->size, capacity = w->vmdk.capacity;
  unsigned char magic[4] = "";

  if (size >= 3 * SECTOR && size % SECTOR == 0 &&
      imagefile_read (w->file, "the vmdk footer", magic, sizeof magic,
                      size - 2 * SECTOR, w->error) == -1)
    return -1;
  if (!vmdk_is_sparse (magic))
    return imagefile_error (w->file, w->error, "the vmdk image is cut short: "
                            "it does not end with a footer; if it was cut into "
                            "pieces, join them");
  if (read_header (w->file, size - 2 * SECTOR, &w->vmdk, w->error) == -1)
    return -1;
  if (w->vmdk.capacity != capacity)
    return imagefile_error (w->file, w->error, "the vmdk image is corrupt: "
                            "its header and its footer have different sizes "
                            "of the disk");
  return 0;
}

/* Check the grain at SECTOR, which contains USED bytes of the disk. */
static int
check_grain (struct grain_walk *w, uint64_t sector, uint64_t used)
{
  unsigned char marker[12];
  uint64_t offset = sector * SECTOR;

  if (!w->vmdk.compressed)
    return imagefile_check (w->file, "a grain", offset, used, w->error);

  /* Compressed data has a checksum, by which qemu detects that the data is
   * truncated.  The checks here only give a better error message.  The length
   * is known only from a marker; without markers the first byte is checked.
   */
  if (!(w->vmdk.flags & MARKERS))
    return imagefile_check (w->file, "a grain", offset, 1, w->error);
  if (imagefile_read (w->file, "a grain", marker, sizeof marker, offset,
                      w->error) == -1)
    return -1;
  return imagefile_check (w->file, "a grain", offset,
                          sizeof marker + le32_at (marker + 8), w->error);
}

/* Check the grain table at SECTOR, which maps the disk from sector GUEST on. */
static int
check_table (struct grain_walk *w, uint64_t sector, uint64_t guest)
{
  const struct vmdk *vmdk = &w->vmdk;
  size_t len = vmdk->table_entries * 4;

  if (imagefile_read (w->file, "a grain table", w->table, len,
                      sector * SECTOR, w->error) == -1)
    return -1;
  /* Without this limit a small file could name the same table many times, and
   * checking it each time would take long.
   */
  w->table_bytes += len;
  if (w->table_bytes > w->file->size)
    return imagefile_error (w->file, w->error, "the image is corrupt: its "
                            "grain tables overlap");

  for (size_t i = 0; i < len && guest < vmdk->capacity; i += 4) {
    uint32_t grain = le32_at (w->table + i);
    bool zero = grain == 0 || (grain == 1 && vmdk->flags & ZERO_GRAIN);
    uint64_t used = MIN (vmdk->grain_sectors, vmdk->capacity - guest);

    if (!zero && check_grain (w, grain, used * SECTOR) == -1)
      return -1;
    guest += vmdk->grain_sectors;
  }
  return 0;
}

static int
check_directory (struct grain_walk *w)
{
  const struct vmdk *vmdk = &w->vmdk;
  uint64_t per_table = vmdk->table_entries * vmdk->grain_sectors;
  uint64_t tables = DIV_ROUND_UP (vmdk->capacity, per_table);
  uint64_t guest = 0;

  if (tables > MAX_TABLES || vmdk->directory_offset > UINT64_MAX / SECTOR)
    return imagefile_error (w->file, w->error, "the vmdk header is corrupt: "
                            "its grain directory is too large");
  w->directory_bytes = tables * 4;
  for (uint64_t done = 0; done < tables * 4; done += CHUNK) {
    size_t n = MIN (tables * 4 - done, CHUNK);

    if (imagefile_read (w->file, "the grain directory", w->directory, n,
                        vmdk->directory_offset * SECTOR + done,
                        w->error) == -1)
      return -1;
    for (size_t i = 0; i < n; i += 4) {
      uint32_t sector = le32_at (w->directory + i);

      if (sector && check_table (w, sector, guest) == -1)
        return -1;
      guest += per_table;
    }
  }
  return 0;
}

static int
check (struct grain_walk *w)
{
  if (read_header (w->file, 0, &w->vmdk, w->error) == -1)
    return -1;
  if (w->vmdk.directory_offset == GD_AT_END && read_footer (w) == -1)
    return -1;
  if (w->vmdk.grain_sectors < 1 ||
      w->vmdk.grain_sectors > MAX_GRAIN_SECTORS ||
      w->vmdk.table_entries < 1 || w->vmdk.table_entries > MAX_TABLE_ENTRIES)
    return imagefile_error (w->file, w->error, "the vmdk header is corrupt: "
                            "%" PRIu64 " sectors in a grain, %" PRIu32
                            " grains in a table", w->vmdk.grain_sectors,
                            w->vmdk.table_entries);
  if (w->vmdk.compressed &&
      w->vmdk.grain_sectors > MAX_COMPRESSED_GRAIN_SECTORS)
    return imagefile_error (w->file, w->error, "refused because the vmdk "
                            "image has compressed grains of %" PRIu64
                            " sectors: qemu would need memory for several of "
                            "them, and blksum allows %d sectors",
                            w->vmdk.grain_sectors,
                            MAX_COMPRESSED_GRAIN_SECTORS);
  return check_directory (w);
}

int
vmdk_check_and_count (const struct imagefile *file, uint64_t *memory,
                      struct error *error)
{
  struct grain_walk *w = malloc (sizeof *w);
  int r;

  if (!w)
    return imagefile_error (file, error, "out of memory");
  w->file = file;
  w->error = error;
  w->directory_bytes = w->table_bytes = 0;
  r = check (w);
  *memory = w->directory_bytes * 2; /* there can be a redundant directory */
  free (w);
  return r;
}

int
vmdk_check (const struct imagefile *file, struct error *error)
{
  uint64_t memory;

  return vmdk_check_and_count (file, &memory, error);
}

/* ---- The extents of a descriptor ---- */

/* A file that starts with neither "KDMV" nor "COWD" is a descriptor.  A sparse
 * image ("KDMV") contains a descriptor, which qemu uses only if the capacity of
 * the image is 0.  Lines are parsed as in qemu (7.2), so that the extents found
 * here are those that qemu reads.  An extent line that qemu would skip is an
 * error here, because qemu would omit the extent from the disk.
 *
 * A descriptor that is truncated after one of its extents would describe a
 * smaller disk.  All programs write the disk database after the extents, so at
 * least the start of this database is required here.
 */

#define MAX_SECTORS (INT64_MAX / SECTOR)
#define MAX_DESCRIPTOR ((1 << 20) - 1) /* number of bytes that qemu reads */

/* Does the image use a descriptor?  If so, *OFFSET is its start. */
static enum answer
find_descriptor (const struct imagefile *file, uint64_t *offset,
                 struct error *error)
{
  unsigned char head[36];

  *offset = 0;
  if (imagefile_read (file, "the vmdk header", head, 4, 0, error) == -1)
    return ANSWER_FAILED;
  if (memcmp (head, "COWD", 4) == 0)
    return ANSWER_NO;
  if (memcmp (head, "KDMV", 4) != 0)
    return ANSWER_YES;
  if (imagefile_read (file, "the vmdk header", head, sizeof head, 0,
                      error) == -1)
    return ANSWER_FAILED;
  if (le64_at (head + 12) != 0 || le64_at (head + 28) == 0)
    return ANSWER_NO;
  if (le64_at (head + 28) > MAX_SECTORS)
    return imagefile_error (file, error, "the vmdk header is corrupt");
  *offset = le64_at (head + 28) * SECTOR;
  return ANSWER_YES;
}

static char *
read_extent_descriptor (const struct imagefile *file, uint64_t offset,
                        struct error *error)
{
  uint64_t rest = offset < file->size ? file->size - offset : 0;
  size_t len = MIN (rest, MAX_DESCRIPTOR);
  char *text = malloc (len + 1);

  if (!text) {
    imagefile_error (file, error, "out of memory");
    return NULL;
  }
  if (imagefile_read (file, "the vmdk descriptor", text, len, offset,
                      error) == -1) {
    free (text);
    return NULL;
  }
  text[len] = '\0';
  return text;
}

/* Does LINE describe an extent?  If so, *EXTENT is set.  Fails if it is the
 * line of an extent that qemu would skip or refuse.
 */
static enum answer
parse_line (const char *line, struct vmdk_extent *extent)
{
  static const char *const accesses[] = { "RW", "RDONLY", "NOACCESS", NULL };
  static const char *const types[] = {
    "FLAT", "VMFS", "SPARSE", "VMFSSPARSE", "SESPARSE", NULL
  };
  char access[11];
  int64_t sectors, offset;
  bool flat;
  int n;

  n = sscanf (line, "%10s %" SCNd64 " %10s \"%511[^\n\r\"]\" %" SCNd64,
              access, &sectors, extent->type, extent->name, &offset);
  if (n < 2 || !word_is_one_of (access, strlen (access), accesses))
    return ANSWER_NO;
  if (n < 4 || strcmp (access, "RW") != 0 || sectors <= 0 ||
      sectors > MAX_SECTORS ||
      !word_is_one_of (extent->type, strlen (extent->type), types))
    return ANSWER_FAILED;
  flat = strcmp (extent->type, "FLAT") == 0;
  if ((n == 5) != flat || (flat && (offset < 0 || offset > MAX_SECTORS)))
    return ANSWER_FAILED;
  extent->offset = flat ? (uint64_t) offset * SECTOR : 0;
  extent->size = (uint64_t) sectors * SECTOR;
  return ANSWER_YES;
}

static bool
is_disk_database (const char *line)
{
  return strncmp (line, "#DDB", 4) == 0 || strncmp (line, "ddb.", 4) == 0;
}

static int
for_each_line (const struct imagefile *file, const char *text,
               vmdk_extent_function *function, void *opaque,
               struct error *error)
{
  struct vmdk_extent extent;
  unsigned extents = 0;
  bool complete = false;
  const char *end;

  for (; text; text = end ? end + 1 : NULL) {
    enum answer found;

    text += strspn (text, " \t\r\v\f");
    end = strchr (text, '\n');
    complete |= extents > 0 && is_disk_database (text);
    if (*text != 'R' && *text != 'N')
      continue;
    found = parse_line (text, &extent);
    if (found == ANSWER_FAILED)
      return imagefile_error (file, error, "the descriptor of the vmdk image "
                              "has an extent that qemu cannot read: '%.*s'",
                              (int) MIN (strcspn (text, "\r\n"), 100), text);
    if (found == ANSWER_YES && function (opaque, &extent, error) == -1)
      return -1;
    extents += found == ANSWER_YES;
  }
  if (extents == 0)
    return imagefile_error (file, error, "the descriptor of the vmdk image "
                            "names no extent");
  if (!complete)
    return imagefile_error (file, error, "the descriptor of the vmdk image is "
                            "truncated: no disk database ('#DDB') follows its "
                            "extents");
  return 0;
}

int
vmdk_extents (const struct imagefile *file, vmdk_extent_function *function,
              void *opaque, struct error *error)
{
  enum answer found;
  uint64_t offset;
  char *text;
  int r;

  found = find_descriptor (file, &offset, error);
  if (found != ANSWER_YES)
    return found == ANSWER_NO ? 0 : -1;
  text = read_extent_descriptor (file, offset, error);
  if (!text)
    return -1;
  r = for_each_line (file, text, function, opaque, error);
  free (text);
  return r;
}

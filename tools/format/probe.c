/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The format that is probed is the same as in qemu, so that the hashed content
 * is the one that the user sees through qemu.  There are four exceptions: LUKS
 * version 2 and our own manifests, which qemu detects as raw; dmg, which qemu
 * detects by the name of the file; and a vpc of fixed size, which has no copy
 * of its footer at the start, so that qemu would read the footer as a part of a
 * raw disk.
 */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "format/imagefile.h"
#include "format/probe.h"
#include "qemu/qemu.h"
#include "util/error.h"

/* ---- The names of formats ---- */

static const char *const formats[] = {
  "raw", "qcow2", "vdi", "vhdx", "vmdk", "vpc", NULL
};

/* Formats of qemu that are detected, so that they are not hashed as raw, but
 * not read.  LUKS is another one: see image.c.
 */
static const char *const unread[] = {
  "bochs", "cloop", "dmg", "parallels", "qcow", "qed", NULL
};

/* Aliases of the formats: the usual file name extensions. */
static const struct {
  const char *alias, *name;
} aliases[] = {
  { "img", "raw" },
  { "iso", "raw" },
  { "vhd", "vpc" },
};

bool
format_is_known (const char *name)
{
  return word_is_one_of (name, strlen (name), formats);
}

bool
format_is_unread (const char *name)
{
  return word_is_one_of (name, strlen (name), unread);
}

const char *
format_by_alias (const char *name)
{
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcasecmp (name, aliases[i].alias) == 0)
      return aliases[i].name;
  return NULL;
}

/* Returns the part of the output of "qemu-img --help" that starts with the list
 * of drivers, " a b c\n..."; or NULL if qemu-img failed or prints no list.  The
 * result points into *OUTPUT, which the caller frees even if this is NULL.
 */
static char *
qemu_drivers (char **output)
{
  static const char title[] = "Supported formats:";
  char *argv[] = { "qemu-img", "--help", NULL };
  struct error ignored = { "" };
  char *messages = NULL, *list;

  *output = NULL;
  if (process_run (argv, output, &messages, &ignored) == -1) {
    free (messages);
    return NULL;
  }
  list = strstr (*output, title);
  return list ? list + strlen (title) : NULL;
}

static bool
has_word (const char *list, const char *word)
{
  size_t len = strlen (word);

  for (;;) {
    list += strspn (list, " \n");
    if (!*list)
      return false;
    if (strcspn (list, " \n") == len && memcmp (list, word, len) == 0)
      return true;
    list += strcspn (list, " \n");
  }
}

char *
format_list (void)
{
  char *output, *drivers = qemu_drivers (&output), *names = NULL;
  size_t size;
  FILE *out = open_memstream (&names, &size);

  if (out) {
    fputs (formats[0], out);
    for (size_t i = 1; formats[i]; i++)
      if (!drivers || has_word (drivers, formats[i]))
        fprintf (out, ", %s", formats[i]);
    memstream_close (out, &names);
  }
  free (output);
  return names;
}

/* ---- The first and the last bytes ---- */

struct head {
  const unsigned char *bytes;
  size_t len;
};

/* Returns true if the SIZE bytes at OFFSET are equal to MAGIC. */
static bool
is_at (const struct head *head, size_t offset, const void *magic, size_t size)
{
  return head->len >= offset + size &&
    memcmp (head->bytes + offset, magic, size) == 0;
}

/* Compare with a string literal, without or with its terminating NUL. */
#define HAS(head, offset, magic) is_at (head, offset, magic, sizeof magic - 1)
#define HAS_NUL(head, offset, magic) is_at (head, offset, magic, sizeof magic)

static const char *
probe_qcow (const struct head *head)
{
  uint32_t version;

  if (!HAS (head, 0, "QFI\xfb") || head->len < 8)
    return NULL;
  version = be32_at (head->bytes + 4);
  return version >= 2 ? "qcow2" : version == 1 ? "qcow" : NULL;
}

/* Returns true if HEAD is the text descriptor of a vmdk: comments and blank
 * lines, followed by a version.
 */
static bool
is_vmdk_text (const struct head *head)
{
  const unsigned char *p = head->bytes, *end = p + head->len;

  while (p < end && (*p == '#' || *p == ' ')) {
    const unsigned char *eol = memchr (p, '\n', end - p);

    if (!eol)
      return false;
    if (*p == ' ') {
      p += strspn ((const char *) p, " "); /* stops at EOL or before it */
      if (p < eol && *p == '\r')
        p++;
      if (p != eol)
        return false;
    }
    p = eol + 1;
  }
  if (end - p < 10 || memcmp (p, "version=", 8) != 0 ||
      p[8] < '1' || p[8] > '3')
    return false;
  return p[9] == '\n' || (end - p >= 11 && p[9] == '\r' && p[10] == '\n');
}

static bool
is_bochs (const struct head *head)
{
  uint32_t version;

  if (head->len < 512 ||
      !HAS_NUL (head, 0, "Bochs Virtual HD Image") ||
      !HAS_NUL (head, 32, "Redolog") || !HAS_NUL (head, 48, "Growing"))
    return false;
  version = le32_at (head->bytes + 64);
  return version == 0x10000 || version == 0x20000;
}

static bool
is_parallels (const struct head *head)
{
  return (HAS (head, 0, "WithoutFreeSpace") ||
          HAS (head, 0, "WithouFreSpacExt")) &&
    head->len >= 64 && le32_at (head->bytes + 16) == 2;
}

const char *
probe_format (const unsigned char *bytes, size_t len)
{
  const struct head head = { bytes, MIN (len, PROBE_SIZE) };
  const char *qcow = probe_qcow (&head);

  if (qcow)
    return qcow;
  if (HAS (&head, 0, "KDMV") || HAS (&head, 0, "COWD") ||
      is_vmdk_text (&head))
    return "vmdk";
  if (HAS (&head, 0, "vhdxfile"))
    return "vhdx";
  if (head.len >= 512 && HAS (&head, 64, "\x7f\x10\xda\xbe"))
    return "vdi";
  if (HAS (&head, 0, "conectix"))
    return "vpc";
  if (head.len >= 64 && HAS_NUL (&head, 0, "QED"))
    return "qed";
  if (is_parallels (&head))
    return "parallels";
  if (HAS (&head, 0, "LUKS\xba\xbe\0\1"))
    return "luks";
  if (HAS (&head, 0, "LUKS\xba\xbe\0\2"))
    return "luks2";
  if (is_bochs (&head))
    return "bochs";
  if (HAS (&head, 0, "#!/bin/sh\n#V2.0 Format\nmodprobe cloop file=$0 && "
           "mount -r -t iso9660 /dev/cloop $1\n"))
    return "cloop";
  if (HAS (&head, 0, "blkhash-manifest "))
    return "manifest";
  return "raw";
}

const char *
probe_container (const unsigned char *bytes, size_t len)
{
  const struct head head = { bytes, MIN (len, PROBE_SIZE) };

  if (HAS (&head, 0, "\x1f\x8b\x08"))
    return "gzip";
  if (HAS_NUL (&head, 0, "\xfd" "7zXZ"))
    return "xz";
  if (HAS (&head, 0, "\x28\xb5\x2f\xfd"))
    return "zstd";
  if (HAS (&head, 0, "BZh") && HAS (&head, 4, "1AY&SY") &&
      bytes[3] >= '1' && bytes[3] <= '9')
    return "bzip2";
  if (HAS (&head, 0, "PK\3\4"))
    return "zip";
  if (HAS (&head, 257, "ustar"))
    return "tar";
  if (HAS (&head, 0, "7z\xbc\xaf\x27\x1c"))
    return "7z";
  if (HAS_NUL (&head, 0, "EVF\x09\x0d\x0a\xff"))
    return "E01";
  if (HAS (&head, 0, "\x3a\xff\x26\xed"))
    return "Android sparse";
  return NULL;
}

/* Is the checksum of the footer of a vpc right?  It is the complement of the
 * sum of all other bytes.
 */
static bool
vpc_sum_matches (const unsigned char *footer, size_t len)
{
  uint32_t sum = 0;

  for (size_t i = 0; i < len; i++)
    sum += i < 64 || i >= 68 ? footer[i] : 0;
  return be32_at (footer + 64) == ~sum;
}

const char *
probe_end (const unsigned char *bytes, size_t len, bool *damaged)
{
  const struct head end = { bytes, len };

  *damaged = false;
  if (len != PROBE_SIZE)
    return "raw";
  /* The magic, version and size of the dmg trailer. */
  if (HAS (&end, 0, "koly\0\0\0\4\0\0\2\0"))
    return "dmg";
  /* Old versions of Virtual PC wrote a footer of 511 bytes. */
  for (size_t at = 0; at < 2; at++)
    if (HAS (&end, at, "conectix")) {
      *damaged = !vpc_sum_matches (bytes + at, len - at);
      return *damaged ? "raw" : "vpc";
    }
  return "raw";
}

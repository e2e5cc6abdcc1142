/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if defined __AARCH64EL__ && defined __linux__
#include <arm_acle.h>
#endif

#include "blkhash.h"
#include "common/cpu.h"
#include "common/text.h"
#include "common/util.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest.h"

/* ---- The CRC ----
 *
 * CRC32C, with the instructions of x86-64 and ARMv8 if the CPU has them.
 *
 * Such an instruction has a latency of three cycles or more, but the CPU can
 * start one in each cycle.  So each 3 * PART bytes of a long buffer are divided
 * into three parts, whose CRCs are computed side by side and then combined.
 */

static uint32_t
portable (uint32_t crc, const unsigned char *p, size_t len)
{
  /* The CRC of each half byte. */
  static const uint32_t table[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
    0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
    0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
  };

  for (; len > 0; len--) {
    crc ^= *p++;
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return crc;
}

uint32_t
crc32c_portable (uint32_t crc, const void *buf, size_t len)
{
  return ~portable (~crc, buf, len);
}

#if defined __x86_64__

#define WORD(crc, word) __builtin_ia32_crc32di (crc, word)
#define TARGET __attribute__ ((target ("sse4.2")))

#elif defined __AARCH64EL__ && defined __linux__

#define WORD(crc, word) __crc32cd (crc, word)
#define TARGET __attribute__ ((target ("+crc")))

#endif

#ifdef WORD

#define PART 4096               /* bytes */

/* CRC is that of some data.  Returns the CRC of the same data followed by PART
 * bytes of zeros.  The function is linear: the result is the XOR of the results
 * for the bits that are set in CRC.
 */
static uint32_t
skip_part (uint32_t crc)
{
  static const uint32_t bits[32] = {
    0xc2a5b65e, 0x80a71a4d, 0x04a2426b, 0x094484d6,
    0x128909ac, 0x25121358, 0x4a2426b0, 0x94484d60,
    0x2d7cec31, 0x5af9d862, 0xb5f3b0c4, 0x6e0b1779,
    0xdc162ef2, 0xbdc02b15, 0x7e6c20db, 0xfcd841b6,
    0xfc5cf59d, 0xfd559dcb, 0xff474d67, 0xfb62ec3f,
    0xf329ae8f, 0xe3bf2bef, 0xc292212f, 0x80c834af,
    0x047c1faf, 0x08f83f5e, 0x11f07ebc, 0x23e0fd78,
    0x47c1faf0, 0x8f83f5e0, 0x1aeb9d31, 0x35d73a62,
  };
  uint32_t skipped = 0;
  unsigned i;

  for (i = 0; i < 32; i++)
    skipped ^= bits[i] & -(crc >> i & 1);
  return skipped;
}

/* Add the three parts at P to CRC. */
TARGET static uint32_t
by_parts (uint32_t crc, const unsigned char *p)
{
  uint32_t crc2 = 0, crc3 = 0;
  uint64_t word, word2, word3;
  size_t i;

  for (i = 0; i < PART; i += sizeof word) {
    memcpy (&word, p + i, sizeof word);
    memcpy (&word2, p + PART + i, sizeof word2);
    memcpy (&word3, p + 2 * PART + i, sizeof word3);
    crc = WORD (crc, word);
    crc2 = WORD (crc2, word2);
    crc3 = WORD (crc3, word3);
  }
  return skip_part (skip_part (crc) ^ crc2) ^ crc3;
}

TARGET static uint32_t
by_words (uint32_t crc, const unsigned char *p, size_t len)
{
  uint64_t word;

  for (; len >= 3 * PART; len -= 3 * PART, p += 3 * PART)
    crc = by_parts (crc, p);
  for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
    memcpy (&word, p, sizeof word);
    crc = WORD (crc, word);
  }
  return portable (crc, p, len);
}

uint32_t
crc32c (uint32_t crc, const void *buf, size_t len)
{
  return cpu_features () & CPU_CRC32C ? ~by_words (~crc, buf, len)
                                      : crc32c_portable (crc, buf, len);
}

#else

uint32_t
crc32c (uint32_t crc, const void *buf, size_t len)
{
  return crc32c_portable (crc, buf, len);
}

#endif

/* ---- The header ----
 *
 * The header is lines of text, which "head -c 512" shows.  A header that is
 * parsed is untrusted.
 */

#define FORMAT_VERSION "1"

uint64_t
manifest_image_blocks (const struct manifest_header *header)
{
  uint32_t block_size = blkhash_opts_get_block_size (header->opts);

  return DIV_ROUND_UP (header->size, block_size);
}

bool
manifest_is_complete (const struct manifest_header *header)
{
  return header->first == 0 && header->count == manifest_image_blocks (header);
}

void
manifest_header_print (const struct manifest_header *header,
                       unsigned char bytes[MANIFEST_HEADER_SIZE])
{
  char tag[BLKHASH_MAX_TAG_SIZE] = "";

  blkhash_opts_get_tag (header->opts, tag, sizeof tag);
  memset (bytes, 0, MANIFEST_HEADER_SIZE);
  snprintf ((char *) bytes, MANIFEST_HEADER_SIZE,
            MANIFEST_MAGIC FORMAT_VERSION "\nsum: %s\nsize: %" PRIu64 "\n"
            "blocks: %" PRIu64 ":%" PRIu64 "\n%s%s%s",
            tag, header->size, header->first, header->count,
            *header->plan ? "plan: " : "", header->plan,
            *header->plan ? "\n" : "");
}

/* Parse a number without leading zeros, up to the character END.  Returns the
 * text after END, or NULL.
 */
static const char *
parse_number (const char *text, char end, uint64_t *value)
{
  const char *rest = number_parse (text, value);

  if (!rest || *rest != end || (*text == '0' && rest > text + 1))
    return NULL;
  return rest + 1;
}

/* Each key sets a bit in SEEN.  SEEN_ALL has the bits of the required keys. */
enum { SEEN_SUM = 1, SEEN_SIZE = 2, SEEN_BLOCKS = 4, SEEN_ALL = 7,
       SEEN_PLAN = 8 };

struct parser {
  struct manifest_header *header;
  unsigned seen;
  const char *why;
};

static int
parse_sum (struct parser *parser, const char *value)
{
  parser->header->opts = blkhash_opts_from_tag (value);
  if (parser->header->opts)
    return 0;
  parser->why = "the header has unsupported hash parameters";
  return errno == EINVAL ? ENOTSUP : errno;
}

static int
parse_size (struct parser *parser, const char *value)
{
  parser->why = "the header has an invalid size";
  return parse_number (value, '\0', &parser->header->size) &&
    parser->header->size != BLKHASH_SIZE_UNKNOWN ? 0 : EBADMSG;
}

static int
parse_blocks (struct parser *parser, const char *value)
{
  parser->why = "the header has invalid numbers of blocks";
  value = parse_number (value, ':', &parser->header->first);
  return value && parse_number (value, '\0', &parser->header->count)
    ? 0 : EBADMSG;
}

/* Ignore a value that is not valid: another program wrote it. */
static int
parse_plan (struct parser *parser, const char *value)
{
  if (strlen (value) == MANIFEST_PLAN_DIGITS &&
      strspn (value, "0123456789abcdef") == MANIFEST_PLAN_DIGITS)
    strcpy (parser->header->plan, value);
  return 0;
}

static const struct {
  const char *key;
  unsigned seen;
  int (*parse) (struct parser *parser, const char *value);
} keys[] = {
  { "sum", SEEN_SUM, parse_sum },
  { "size", SEEN_SIZE, parse_size },
  { "blocks", SEEN_BLOCKS, parse_blocks },
  { "plan", SEEN_PLAN, parse_plan },
};

/* Parse LINE, "KEY: VALUE" without a newline. */
static int
parse_line (struct parser *parser, char *line)
{
  char *value = strstr (line, ": ");
  size_t i;

  if (!value) {
    parser->why = "the header has an invalid line";
    return EBADMSG;
  }
  *value = '\0';
  value += strlen (": ");
  for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (strcmp (line, keys[i].key) == 0) {
      if (parser->seen & keys[i].seen) {
        parser->why = "the header has a key twice";
        return EBADMSG;
      }
      parser->seen |= keys[i].seen;
      return keys[i].parse (parser, value);
    }
  if (*line == '!') {
    parser->why = "it needs a later version of blkhash";
    return ENOTSUP;
  }
  return 0;
}

/* Returns true if the first LEN bytes are lines of printable ASCII, and the
 * others are NUL.
 */
static bool
is_text (const unsigned char *bytes, size_t len)
{
  size_t i;

  for (i = 0; i < len; i++)
    if (bytes[i] != '\n' && (bytes[i] < ' ' || bytes[i] > '~'))
      return false;
  for (; i < MANIFEST_HEADER_SIZE; i++)
    if (bytes[i] != '\0')
      return false;
  return len > 0 && bytes[len - 1] == '\n';
}

static int
parse_version (struct parser *parser, const char *line)
{
  if (strncmp (line, MANIFEST_MAGIC, strlen (MANIFEST_MAGIC)) != 0) {
    parser->why = "not a blkhash manifest";
    return EBADMSG;
  }
  parser->why = "unsupported version";
  return strcmp (line + strlen (MANIFEST_MAGIC), FORMAT_VERSION) == 0
    ? 0 : ENOTSUP;
}

/* Check that all required keys are present, and the blocks are in the image. */
static int
check_numbers (struct parser *parser)
{
  const struct manifest_header *header = parser->header;
  uint64_t blocks;

  if ((parser->seen & SEEN_ALL) != SEEN_ALL) {
    parser->why = "the header lacks a required key";
    return EBADMSG;
  }
  blocks = manifest_image_blocks (header);
  parser->why = "the header has blocks that the image does not have";
  return header->first <= blocks && header->count <= blocks - header->first
    ? 0 : EBADMSG;
}

int
manifest_header_parse (const unsigned char bytes[MANIFEST_HEADER_SIZE],
                       struct manifest_header *header, const char **why)
{
  struct parser parser = { .header = header };
  char text[MANIFEST_HEADER_SIZE + 1] = "", *rest = text;
  int err;

  memcpy (text, bytes, MANIFEST_HEADER_SIZE);
  err = parse_version (&parser, strsep (&rest, "\n"));
  if (err == 0 && !is_text (bytes, strnlen ((const char *) bytes,
                                            MANIFEST_HEADER_SIZE))) {
    parser.why = "the header is damaged";
    err = EBADMSG;
  }
  while (err == 0 && *rest)
    err = parse_line (&parser, strsep (&rest, "\n"));
  if (err == 0)
    err = check_numbers (&parser);
  *why = parser.why;
  return err;
}

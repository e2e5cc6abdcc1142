/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "common/hash-spec.h"
#include "common/sums.h"

#define CONTENT_PREFIX "content-" /* of the tag of a digest of the content */

/* ---- Format a line ---- */

char *
sum_line_escape (const char *name)
{
  char *escaped = malloc (2 * strlen (name) + 1), *p = escaped;

  if (!escaped)
    return NULL;
  for (; *name; name++) {
    char c = *name == '\n' ? 'n' : *name == '\r' ? 'r' : *name;

    if (c != *name || c == '\\')
      *p++ = '\\';
    *p++ = c;
  }
  *p = '\0';
  return escaped;
}

void
sum_line_hex (const unsigned char *md, size_t md_len, char *hex)
{
  size_t i;

  hex[0] = '\0';
  for (i = 0; i < md_len; i++)
    sprintf (hex + 2 * i, "%02x", md[i]);
}

/* Append the sum MD to its tag in TEXT. */
static void
append_md (char *text, const struct blkhash_opts *opts, const unsigned char *md)
{
  size_t len = strlen (text);

  text[len] = ':';
  sum_line_hex (md, blkhash_opts_get_digest_size (opts), text + len + 1);
}

void
sum_line_text (const struct blkhash_opts *opts, const unsigned char *md,
               char text[SUM_TEXT_SIZE])
{
  blkhash_opts_get_tag (opts, text, BLKHASH_MAX_TAG_SIZE);
  append_md (text, opts, md);
}

/* TAG is NULL for a line without a tag; NAME is NULL for a line without a name.
 * Returns NULL if there is no memory.  open_memstream is not used, because its
 * stream loses a part of the text without an error if there is no memory.
 */
static char *
format (const char *tag, const char *hex, const char *name, bool escaped)
{
  const char *start = escaped ? "\\" : "";
  char *line;
  int r;

  if (!tag)
    r = asprintf (&line, "%s%s%s%s", start, hex, name ? "  " : "",
                  name ? name : "");
  else if (name)
    r = asprintf (&line, "%s%s (%s) = %s", start, tag, name, hex);
  else
    r = asprintf (&line, "%s = %s", tag, hex);
  return r == -1 ? NULL : line;
}

static char *
format_escaped (const char *tag, const unsigned char *md, size_t md_len,
                const char *name, bool escape)
{
  char hex[SUM_HEX_SIZE];
  char *escaped = escape && name ? sum_line_escape (name) : NULL;
  char *line = NULL;

  sum_line_hex (md, md_len, hex);
  if (escaped || !escape || !name)
    line = format (tag, hex, escaped ? escaped : name,
                   escaped && strcmp (escaped, name) != 0);
  free (escaped);
  return line;
}

char *
sum_line (const struct blkhash_opts *opts,
          const unsigned char *md, size_t md_len,
          const char *name, bool tag, bool escape)
{
  char text[BLKHASH_MAX_TAG_SIZE];

  if (tag && blkhash_opts_get_tag (opts, text, sizeof text) != 0)
    return NULL;
  return format_escaped (tag ? text : NULL, md, md_len, name, escape);
}

/* A buffer for the tag of a digest of the content. */
#define CONTENT_TAG_SIZE (sizeof CONTENT_PREFIX + BLKHASH_MAX_TAG_SIZE)

char *
sum_line_content (const char *digest, const unsigned char *md, size_t md_len,
                  const char *name, bool escape)
{
  char tag[CONTENT_TAG_SIZE];

  snprintf (tag, sizeof tag, CONTENT_PREFIX "%s", digest);
  return format_escaped (tag, md, md_len, name, escape);
}

/* ---- Parse a line ----
 *
 * A line that is not a checksum is either text or damaged.  Text is skipped
 * with a warning, so that a list can be part of another text, such as a signed
 * mail.  A line that looks like a checksum, but in which a character is missing
 * or wrong, is damaged.  Damage is an error: if the line were skipped, the
 * check would succeed without reading the image of that line.  (sha256sum skips
 * damaged lines as it skips text.)
 */

static const char hex_digits[] = "0123456789abcdefABCDEF";
static const char blanks[] = " \t";

#define BOM "\xef\xbb\xbf"      /* U+FEFF in UTF-8 */

/* The number of digits of xxh64, the shortest digest except null, which has
 * none.
 */
#define MIN_DIGITS 16

static void
set_damaged (struct sums_line *line, const char *why)
{
  *line = (struct sums_line) { .type = SUMS_DAMAGED, .why = why };
}

/* Replace \\, \n and \r.  Returns false, and replaces nothing, if another
 * character follows a backslash.
 */
static bool
unescape (char *name)
{
  char *to = name, *p;

  for (p = name; (p = strchr (p, '\\')); p += 2)
    if (p[1] == '\0' || !strchr ("\\nr", p[1]))
      return false;
  for (; *name; name++) {
    char c = *name;

    if (c == '\\') {
      c = *++name;
      c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
    *to++ = c;
  }
  *to = '\0';
  return true;
}

/* Returns true if TEXT contains something that looks like a checksum, or like a
 * checksum in which one character is wrong.
 */
static bool
looks_like_sum (const char *text)
{
  size_t i, n, digits = 0;

  if (strncmp (text, "blk-", 4) == 0)
    return true;
  for (i = 0; i < MIN_DIGITS && text[i]; i++)
    digits += isxdigit ((unsigned char) text[i]) != 0;
  if (digits >= MIN_DIGITS - 1)
    return true;
  for (; *text; text += n + (text[n] != '\0')) {
    n = strspn (text, hex_digits);
    if (n >= MIN_DIGITS)
      return true;
  }
  return false;
}

/* Is TEXT the sum of a file: "SHA256 (NAME) = HEX", "sha256:HEX" or
 * "sha256 = HEX"?  The tag of blksum contains a slash, or begins with
 * "content-", so one damaged character does not turn a line of blksum into such
 * a line.
 */
static bool
is_foreign (const char *text)
{
  size_t n = 0, separators;
  const char *end = strrchr (text, ')'), *hex;

  if (*text && strncmp (text + 1, CONTENT_PREFIX + 1,
                        strlen (CONTENT_PREFIX + 1)) == 0)
    return false;
  while (isalnum ((unsigned char) text[n]) || text[n] == '-')
    n++;
  separators = strspn (text + n, " :=");
  hex = text + n + separators;
  if (n > 0 && n < MIN_DIGITS - 1 && separators > strspn (text + n, " ") &&
      strspn (hex, hex_digits) >= MIN_DIGITS)
    return hex[strspn (hex, hex_digits)] == '\0';
  n += text[n] == ' ';
  return isupper ((unsigned char) text[0]) && text[n] == '(' && end &&
    strspn (end + 1, " =") > 0;
}

/* Set LINE to the sum of a file, for which is_foreign is true. */
static void
set_foreign (struct sums_line *line, char *text)
{
  char *hex = text + strlen (text);

  while (hex > text && isxdigit ((unsigned char) hex[-1]))
    hex--;
  text[strcspn (text, " :=(")] = '\0';
  *line = (struct sums_line) {
    .type = SUMS_OTHER, .foreign = true, .spec = text, .hex = hex
  };
}

static void
parse_other (char *text, const char *why, struct sums_line *line)
{
  if (is_foreign (text))
    set_foreign (line, text);
  else if (looks_like_sum (text))
    set_damaged (line, why);
  else
    *line = (struct sums_line) { .type = SUMS_OTHER };
}

/* Returns true if TEXT begins with START; then the rest is stored in *REST. */
static bool
skip_start (char *text, const char *start, char **rest)
{
  if (strncmp (text, start, strlen (start)) != 0)
    return false;
  *rest = text + strlen (start);
  return true;
}

/* Returns the last ": " in TEXT before END, or NULL.  An earlier one can be in
 * a name.
 */
static char *
find_colon (char *text, const char *end)
{
  char *found = NULL, *next = text;

  while ((next = strstr (next, ": ")) && next < end)
    found = next++;
  return found;
}

/* Returns the end of NAME in "NAME: WHY", or NULL.  Some reasons contain ": "
 * themselves: "5 bytes at 0 cannot be read: ERROR".
 */
static char *
find_why (char *text)
{
  static const char *const reasons[] = {
    "cannot be read", "cannot read the rest"
  };
  char *end = find_colon (text, text + strlen (text)), *name;

  for (size_t i = 0; end && i < sizeof reasons / sizeof reasons[0]; i++) {
    const ptrdiff_t n = strlen (reasons[i]);

    if (end - text >= n && strncmp (end - n, reasons[i], n) == 0 &&
        (name = find_colon (text, end)))
      return name;
  }
  return end;
}

/* Returns the end of NAME in "NAME: N bytes", or NULL. */
static char *
find_bytes (char *text)
{
  char *end = find_colon (text, text + strlen (text)), *next;

  if (!end)
    return NULL;
  next = end + 2 + strspn (end + 2, "0123456789");
  return next > end + 2 && strcmp (next, " bytes") == 0 ? end : NULL;
}

/* Set LINE to a line without a sum, of TYPE.  END is the end of NAME, where
 * ": " and the reason follow.  NAME is escaped, although the line does not
 * start with a backslash; if the escapes are invalid, NAME is not changed.
 */
static void
set_without_sum (struct sums_line *line, enum sums_type type, char *name,
                 char *end)
{
  *line = (struct sums_line) { .type = type, .name = name, .why = end + 2 };
  *end = '\0';
  unescape (name);
}

/* Parse a comment, or "# unknown NAME: WHY" or "# differs NAME: N bytes" of a
 * filter.  Other text after these words is a comment.  Old filters wrote
 * "incomplete" and "bad".
 */
static void
parse_comment (char *text, struct sums_line *line)
{
  size_t digits = strspn (text + 1, hex_digits);
  char *name, *end;

  /* A flipped bit can turn "3" and "c" into "#". */
  if (strncmp (text + 1, CONTENT_PREFIX + 1, strlen (CONTENT_PREFIX + 1)) == 0)
    set_damaged (line, "its first character is not a 'c'");
  else if (digits >= MIN_DIGITS - 1 && digits % 2 == 1 &&
           text[1 + digits] == ' ')
    set_damaged (line, "its first character is not a digit");
  else if ((skip_start (text, "# unknown ", &name) ||
            skip_start (text, "# incomplete ", &name)) &&
           (end = find_why (name)))
    set_without_sum (line, SUMS_UNKNOWN, name, end);
  else if ((skip_start (text, "# differs ", &name) ||
            skip_start (text, "# bad ", &name)) &&
           (end = find_bytes (name)))
    set_without_sum (line, SUMS_DIFFERS, name, end);
  else
    line->type = SUMS_NOTHING;
}

/* Set LINE to a checksum of TYPE, or to SUMS_DAMAGED if NAME is invalid.  NAME
 * is decoded if ESCAPED is set, and NULL if there is none.
 */
static void
set_sum (struct sums_line *line, enum sums_type type, const char *spec,
         const char *hex, char *name, bool escaped)
{
  if (name && *name == '\0')
    set_damaged (line, "it has no name");
  else if (name && escaped && !unescape (name))
    set_damaged (line, "its name has a backslash that is not followed by a "
                 "backslash, n or r");
  else
    *line = (struct sums_line) {
      .type = type, .spec = spec, .hex = hex, .name = name
    };
}

/* Does TEXT begin like a digest of the content?  "content-type: text" does not.
 */
static bool
begins_like_content (char *text)
{
  char *end;

  if (!skip_start (text, CONTENT_PREFIX, &end))
    return false;
  while (isalnum ((unsigned char) *end) || *end == '-')
    end++;
  return strncmp (end, " (", 2) == 0 || strncmp (end, " = ", 3) == 0 ||
    (*end == ':' && looks_like_sum (end + 1));
}

/* Parse TEXT, which follows "blk-" for SUMS_SUM, and "content-" for
 * SUMS_CONTENT.  The last ")" ends the name, because a name can contain
 * anything, even ") = ".
 */
static void
parse_tagged (char *text, enum sums_type type, bool escaped,
              struct sums_line *line)
{
  char *spec_end = text + strcspn (text, " :");
  char *name = NULL, *name_end = NULL, *hex = NULL;

  if (skip_start (spec_end, " (", &name))
    name_end = strrchr (name, ')');
  if (name_end)
    skip_start (name_end, ") = ", &hex);
  else if (!name && !skip_start (spec_end, ":", &hex))
    skip_start (spec_end, " = ", &hex);
  if (!hex || *hex == '\0' || hex[strspn (hex, hex_digits)] != '\0') {
    set_damaged (line, type == SUMS_CONTENT
                 ? "it is not 'content-DIGEST (NAME) = HEX'"
                 : "it is not 'blk-DIGEST/SIZE (NAME) = HEX'");
    return;
  }
  *spec_end = '\0';
  if (name_end)
    *name_end = '\0';
  set_sum (line, type, text, hex, name, escaped);
}

/* Parse TEXT, which begins with a hexadecimal digit. */
static void
parse_plain (char *text, bool escaped, struct sums_line *line)
{
  size_t digits = strspn (text, hex_digits);
  char *rest = text + digits, *name = NULL;

  if (*rest && !skip_start (rest, "  ", &name) &&
      !skip_start (rest, " *", &name))
    parse_other (text, "it is not 'HEX  NAME'", line);
  else if (digits < MIN_DIGITS)
    parse_other (text, "its sum is too short", line);
  else {
    *rest = '\0';
    set_sum (line, SUMS_SUM, NULL, text, name, escaped);
  }
}

static void
parse (char *text, size_t len, struct sums_line *line)
{
  bool escaped;

  *line = (struct sums_line) { .type = SUMS_NOTHING };
  if (len > 0 && text[len - 1] == '\r')
    text[len - 1] = '\0';
  if (*text == '\0')
    return;
  if (*text == '#') {
    parse_comment (text, line);
    return;
  }
  text += strspn (text, blanks);
  escaped = *text == '\\';
  text += escaped;
  if (strncmp (text, "blk-", 4) == 0)
    parse_tagged (text + 4, SUMS_SUM, escaped, line);
  else if (begins_like_content (text))
    parse_tagged (text + strlen (CONTENT_PREFIX), SUMS_CONTENT, escaped, line);
  else if (strspn (text, hex_digits) > 0)
    parse_plain (text, escaped, line);
  else
    parse_other (text, "it is not 'HEX  NAME'", line);
}

/* Some editors write a byte order mark before the first line, so concatenated
 * lists also have one before other lines.  A line with a byte order mark is
 * damaged, unless the rest of it is empty, a comment or text.
 */
static void
parse_line (char *text, size_t len, struct sums_line *line)
{
  size_t bom = 0;

  while (strncmp (text + bom, BOM, strlen (BOM)) == 0)
    bom += strlen (BOM);
  parse (text + bom, len - bom, line);
  if (bom > 0 && line->type != SUMS_NOTHING && line->type != SUMS_OTHER)
    set_damaged (line, "it begins with a UTF-8 byte order mark");
}

static bool
is_sum (const struct sums_line *line)
{
  return line->type == SUMS_SUM || line->type == SUMS_CONTENT;
}

void
sums_line_parse (char *text, size_t len, struct sums_line *line)
{
  parse_line (text, len, line);
  if (is_sum (line) && !line->name)
    set_damaged (line, "it has no name");
}

/* Returns why LINE is not allowed in a text with one sum, or NULL. */
static const char *
why_refused (const struct sums_line *line)
{
  switch (line->type) {
  case SUMS_NOTHING:
  case SUMS_SUM:
  case SUMS_CONTENT: return NULL;
  case SUMS_DAMAGED: return line->why;
  case SUMS_UNKNOWN: return "a line '# unknown' says that there is no sum";
  case SUMS_DIFFERS: return "a line '# differs' says that the image is bad";
  case SUMS_OTHER: break;
  }
  return line->foreign
    ? "it is the sum of a file; blk-DIGEST/SIZE = HEX is that of the disk in "
      "the file, which is different"
    : "it is not 'HEX' or 'blk-DIGEST/SIZE = HEX'; give the text of a file, not "
      "its name";
}

void
sums_line_parse_text (char *text, struct sums_line *sum)
{
  const char *why = NULL;
  struct sums_line line;
  bool found = false, last;

  do {
    size_t len = strcspn (text, "\n");

    last = text[len] == '\0';
    text[len] = '\0';
    parse_line (text, len, &line);
    text += len + 1;
    why = why_refused (&line);
    if (is_sum (&line) && found)
      why = "there are two sums";
    else if (is_sum (&line)) {
      *sum = line;
      found = true;
    }
  } while (!why && !last);
  if (!why && !found)
    why = "there is no sum";
  if (why)
    *sum = (struct sums_line) {
      .type = SUMS_DAMAGED, .why = why, .foreign = line.foreign,
      .spec = line.foreign ? line.spec : NULL,
      .hex = line.foreign ? line.hex : NULL,
    };
}

/* ---- An expected sum ---- */

/* Set REASON, and return EINVAL. */
static int __attribute__ ((format (printf, 2, 3)))
refuse (char *reason, const char *fmt, ...)
{
  va_list args;

  va_start (args, fmt);
  vsnprintf (reason, BLKHASH_MAX_REASON_SIZE, fmt, args);
  va_end (args);
  return EINVAL;
}

static int
out_of_memory (char *reason)
{
  refuse (reason, "%s", strerror (ENOMEM));
  return ENOMEM;
}

/* Set SUM->opts to the parameters of the spec TEXT; or, if SUM->content is set,
 * to the digest TEXT.
 */
static int
set_opts (struct expected_sum *sum, const char *text,
          const struct blkhash_opts *defaults, char *reason)
{
  struct hash_spec spec = { .digest = "" };

  if (sum->content)
    sum->opts = blkhash_opts_new (text);
  else if (!text)
    sum->opts = blkhash_opts_copy (defaults);
  else if (hash_spec_parse (text, &spec) != 0)
    return refuse (reason, "its tag is not of the form blk-DIGEST/SIZE");
  else
    sum->opts = hash_spec_opts (&spec, defaults);
  if (sum->opts)
    return 0;
  switch (errno) {
  case EINVAL:
    return refuse (reason, "unknown digest '%s'",
                   sum->content ? text : spec.digest);
  case EDOM:
    return refuse (reason, "its block size is not a power of two from 4 to "
                   "16m");
  case ENOTSUP: return refuse (reason, "it has more than 1024 streams");
  }
  return out_of_memory (reason);
}

static unsigned
hex_value (char c)
{
  return c <= '9' ? c - '0' : tolower ((unsigned char) c) - 'a' + 10;
}

/* Store in MD the bytes of LEN digits, an even number. */
static void
decode_hex (const char *hex, size_t len, unsigned char *md)
{
  for (size_t i = 0; i < len / 2; i++)
    md[i] = hex_value (hex[2 * i]) << 4 | hex_value (hex[2 * i + 1]);
}

static int
set (struct expected_sum *sum, const struct sums_line *line,
     const struct blkhash_opts *defaults, char *reason)
{
  const char *hex = line->hex;
  unsigned size;
  int err;

  sum->content = line->type == SUMS_CONTENT;
  err = set_opts (sum, line->spec, defaults, reason);
  if (err)
    return err;
  sum->tagged = line->spec != NULL;
  size = blkhash_opts_get_digest_size (sum->opts);
  if (strlen (hex) != 2 * size)
    return refuse (reason, "it has %zu digits, but %s sums have %u",
                   strlen (hex), blkhash_opts_get_digest_name (sum->opts),
                   2 * size);
  decode_hex (hex, 2 * size, sum->md);
  return 0;
}

int
expected_sum_init (struct expected_sum *sum, const struct sums_line *line,
                   const struct blkhash_opts *defaults, char *reason)
{
  struct blkhash_opts *own = defaults ? NULL : blkhash_opts_new ("sha256");
  int err;

  *sum = (struct expected_sum) { .opts = NULL };
  if (!defaults && !own)
    return out_of_memory (reason);
  err = set (sum, line, own ? own : defaults, reason);
  blkhash_opts_free (own);
  if (err)
    expected_sum_destroy (sum);
  return err;
}

/* Refuse LINE, which is SUMS_DAMAGED or SUMS_CONTENT, where a sum is needed. */
static int
refuse_line (char *reason, const struct sums_line *line)
{
  return refuse (reason, "%s", line->type == SUMS_CONTENT
                 ? "it is a digest of the content; blk-DIGEST/SIZE = HEX is "
                   "needed" : line->why);
}

int
expected_sum_parse (struct expected_sum *sum, const char *text,
                    const struct blkhash_opts *defaults, char *reason)
{
  char *copy = strdup (text);
  struct sums_line line;
  int err;

  *sum = (struct expected_sum) { .opts = NULL };
  if (!copy)
    return out_of_memory (reason);
  sums_line_parse_text (copy, &line);
  err = line.type == SUMS_SUM
    ? expected_sum_init (sum, &line, defaults, reason)
    : refuse_line (reason, &line);
  free (copy);
  return err;
}

void
expected_sum_destroy (struct expected_sum *sum)
{
  blkhash_opts_free (sum->opts);
  sum->opts = NULL;
}

static void
set_tag (const struct expected_sum *sum, char tag[CONTENT_TAG_SIZE])
{
  if (sum->content)
    snprintf (tag, CONTENT_TAG_SIZE, CONTENT_PREFIX "%s",
              blkhash_opts_get_digest_name (sum->opts));
  else
    blkhash_opts_get_tag (sum->opts, tag, CONTENT_TAG_SIZE);
}

char *
expected_sum_line (const struct expected_sum *sum, const unsigned char *md)
{
  char tag[CONTENT_TAG_SIZE];

  set_tag (sum, tag);
  return format_escaped (tag, md, blkhash_opts_get_digest_size (sum->opts),
                         NULL, false);
}

void
expected_sum_text (const struct expected_sum *sum, const unsigned char *md,
                   char text[SUM_TEXT_SIZE])
{
  set_tag (sum, text);
  append_md (text, sum->opts, md);
}

/* ---- The API ---- */

/* Set SUM to that of LINE.  Without a tag it has no options. */
static int
init_any (struct expected_sum *sum, const struct sums_line *line, char *reason)
{
  size_t digits = strlen (line->hex);

  if (line->spec)
    return expected_sum_init (sum, line, NULL, reason);
  if (digits % 2 != 0 || digits > 2 * BLKHASH_MAX_MD_SIZE)
    return refuse (reason, "no sum has %zu digits", digits);
  decode_hex (line->hex, digits, sum->md);
  return 0;
}

/* Parse TEXT, which is modified.  Stores a copy of the name in *NAME, unless
 * NAME is NULL, and the number of bytes of the sum in *LEN.
 */
static int
parse_any (char *text, struct expected_sum *sum, unsigned *len, char **name,
           char *reason)
{
  struct sums_line line;
  int err;

  sums_line_parse_text (text, &line);
  err = line.type == SUMS_SUM ? init_any (sum, &line, reason)
                              : refuse_line (reason, &line);
  if (err)
    return err;
  *len = strlen (line.hex) / 2;
  if (!name || !line.name || (*name = strdup (line.name)))
    return 0;
  expected_sum_destroy (sum);
  return out_of_memory (reason);
}

int
blkhash_sum_parse (const char *text, struct blkhash_opts **opts,
                   unsigned char *md, unsigned int *len, char **name,
                   char *reason, size_t size)
{
  struct expected_sum sum = { .opts = NULL };
  char why[BLKHASH_MAX_REASON_SIZE];
  char *copy = strdup (text);
  unsigned n = 0;
  int err;

  if (name)
    *name = NULL;
  err = copy ? parse_any (copy, &sum, &n, name, why) : out_of_memory (why);
  free (copy);
  *opts = sum.opts;
  if (err && reason)
    snprintf (reason, size, "%s", why);
  if (err)
    return err;
  memcpy (md, sum.md, n);
  if (len)
    *len = n;
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of blksum: a table, and before it what is done for those that do
 * more than to set a field.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#include "../lib/sum-kind.h"
#include "cli/command-line.h"
#include "cli/lists.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "format/format.h"
#include "util/choice.h"

#define MAX_THREADS 128
#define MAX_READ_SIZE (32 * 1024 * 1024) /* what every NBD server takes */

static struct blkhash_opts *
new_hash_opts (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  if (!opts) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  return opts;
}

/* NAME or, as nbdcopy writes it, NAME/SIZE.  Of several the last one counts,
 * and then what --block-size says: see settle_block_size.
 */
static void
set_digest (struct options *options, const struct option_use *use)
{
  struct blkhash_opts *opts = NULL;
  struct sum_kind kind;

  if (sum_kind_parse (use->arg, &kind) == 0 &&
      kind.streams == 0 && !kind.linear) {
    options->digest_block_size = kind.block_size;
    kind.block_size = 0;
    opts = sum_kind_opts (&kind, options->hash);
    if (!opts && errno != EINVAL) {
      perror ("blksum");
      exit (EXIT_TROUBLE);
    }
  }
  if (!opts)
    usage_error ("unknown digest '%s', see --list-digests", use->arg);
  blkhash_opts_free (options->hash);
  options->hash = opts;
  options->digest_chosen = true;
}

static void
set_block_size (struct options *options, const struct option_use *use)
{
  if (blkhash_opts_set_block_size (options->hash, use->number) != 0)
    usage_error ("--block-size: '%s' is not a power of two from 4 to 16m",
                 use->arg);
  options->block_size_chosen = true;
}

/* Of --digest and --block-size, in whatever order. */
static void
settle_block_size (struct options *options)
{
  uint32_t size = options->digest_block_size;

  if (size == 0)
    return;
  if (options->block_size_chosen &&
      blkhash_opts_get_block_size (options->hash) != size)
    usage_error ("--digest says another block size than --block-size");
  if (blkhash_opts_set_block_size (options->hash, size) != 0)
    usage_error ("--digest: the block size is not a power of two from 4 to "
                 "16m");
  options->block_size_chosen = true;
}

static void
set_streams (struct options *options, const struct option_use *use)
{
  blkhash_opts_set_streams (options->hash, use->number);
  options->construction_chosen = true;
}

static void
set_linear (struct options *options, const struct option_use *use)
{
  (void) use;
  blkhash_opts_set_linear (options->hash, 1);
  options->construction_chosen = true;
}

static void
set_size (struct options *options, const struct option_use *use)
{
  options->source.size = use->number;
}

static void
set_subset (struct options *options, const struct option_use *use)
{
  if (subset_parse (&options->subset, use->arg) == -1)
    usage_error ("--subset: '%s' is not K/N, with K from 0 to N - 1",
                 use->arg);
}

static void
set_part (struct options *options, const struct option_use *use)
{
  if (part_parse (&options->part, use->arg) == -1)
    usage_error ("--part: '%s' is not I/N, with I from 0 to N - 1, and N up to "
                 "%d", use->arg, PART_MOST);
}

/* "N%", with up to six decimals: in millionths of a percent. */
static void
set_audit (struct options *options, const struct option_use *use)
{
  const char *digit = use->arg;
  uint64_t value = 0, unit = 1000000;

  for (; isdigit ((unsigned char) *digit) && value < 1000; digit++)
    value = 10 * value + (*digit - '0');
  value *= unit;
  if (digit > use->arg && *digit == '.' && isdigit ((unsigned char) digit[1]))
    for (digit++; isdigit ((unsigned char) *digit) && unit > 1; digit++) {
      unit /= 10;
      value += (*digit - '0') * unit;
    }
  if (digit == use->arg || strcmp (digit, "%") != 0 || value > CHOICE_ALL)
    usage_error ("--audit: '%s' is not a number from 0 to 100, with up to six "
                 "decimals, and a percent sign", use->arg);
  options->audit = value;
}

static void
set_threads (struct options *options, const struct option_use *use)
{
  blkhash_opts_set_threads (options->hash, use->number);
}

static void
set_cache (struct options *options, const struct option_use *use)
{
  options->source.cache = true;
  options->source.refuse_sums |= use->by_letter;
}

static void
set_progress (struct options *options, const struct option_use *use)
{
  options->progress_bar = !use->arg;
  if (!use->arg)
    options->progress_fd = isatty (STDERR_FILENO) ? STDERR_FILENO : -1;
  else {
    options->progress_fd = use->number;
    if (fcntl (options->progress_fd, F_GETFD) == -1)
      usage_error ("--progress: descriptor %s is not open", use->arg);
  }
}

static void
add_object (struct options *options, const struct option_use *use)
{
  options->source.objects[options->source.nr_objects++] = use->arg;
}

static void
set_output (struct options *options, const struct option_use *use)
{
  if (strcmp (use->arg, "json") == 0)
    options->form = OUTPUT_JSON;
  else if (strcmp (use->arg, "human") == 0)
    options->form = OUTPUT_PLAIN;
  else
    usage_error ("--output: '%s' is neither human nor json", use->arg);
}

/* An error that one sees before anything is read, and once. */
static void
check_format (const char *format)
{
  const char *meant;
  char *list;

  if (format_is_known (format))
    return;
  meant = format_meant (format);
  list = format_list ();
  usage_error ("unknown format '%s'%s%s%s; the formats here are %s", format,
               meant ? " (did you mean " : "", meant ? meant : "",
               meant ? "?)" : "", list ? list : "raw");
}

static void print_help (void);

#define NUMBER(lowest, highest) .min = lowest, .max = highest
#define SIZE(lowest, highest) NUMBER (lowest, highest), .is_size = true

#define FIELD(name) \
  .field = offsetof (struct options, name), \
  .type = _Generic (((struct options *) NULL)->name, \
                    bool: FIELD_BOOL, const char *: FIELD_STRING, \
                    unsigned: FIELD_UNSIGNED, unsigned long: FIELD_LONG)

/* The parts of --help. */
enum {
  GROUP_HASH, GROUP_IMAGE, GROUP_NBD, GROUP_CHECK, GROUP_PARTS, GROUP_AGAIN,
  GROUP_OUTPUT
};

/* In the order of --help. */
static const struct option_row rows[] = {
  { GROUP_HASH, 'd', "digest", "NAME[/N]",
    "sha256 (default), or see --list-digests; block size", .set = set_digest },
  { GROUP_HASH, 'l', "list-digests", NULL,
    "list the digests and exit", .print = lists_digests },
  { GROUP_HASH, 0, "list-kernels", NULL,
    "measure the code that hashes here, and exit", .print = lists_kernels },
  { GROUP_HASH, 'b', "block-size", "N",
    "size of a block, default 64k; changes the sum",
    SIZE (0, UINT32_MAX), .set = set_block_size },
  { GROUP_HASH, 0, "streams", "N",
    "the construction of blkhash 0.9 (64) and older",
    NUMBER (0, 1024), .set = set_streams },
  { GROUP_HASH, 0, "linear", NULL,
    "leave the size of the image out of the sum", .set = set_linear,
    .excludes = "--linear cannot be used with --streams" },
  { GROUP_HASH, 't', "threads", "N",
    "threads that hash, default: online CPUs",
    NUMBER (1, MAX_THREADS), .set = set_threads },
  { GROUP_HASH, 'p', "progress", "[=FD]",
    "show progress, or print lines N/100 to FD",
    NUMBER (0, INT_MAX), .set = set_progress },
  { GROUP_HASH, 'c', "cache", NULL,
    "use the page cache, and leave in it what was read", .set = set_cache },
  { GROUP_HASH, 0, "no-extents", NULL,
    "read everything, do not ask what is sparse",
    FIELD (source.extents), .value = false },

  { GROUP_IMAGE, 'f', "format", "FMT",
    "raw, qcow2, or any format of qemu; default: probe", FIELD (source.format),
    .excludes = "--format goes into the operand with --image-opts: "
                "driver=%s,...",
    .check = check_format },
  { GROUP_IMAGE, 0, "image-opts", NULL,
    "operands are image options of qemu",
    FIELD (source.image_opts), .value = true },
  { GROUP_IMAGE, 0, "object", "DEF",
    "define an object of qemu, such as a secret",
    .set = add_object, .needs = "--image-opts" },
  { GROUP_IMAGE, 0, "size", "N",
    "the image is the first N bytes, and more may follow",
    SIZE (0, SOURCE_WHOLE - 1), .set = set_size },
  { GROUP_IMAGE, 'U', "force-share", NULL,
    "read an image that is in use", FIELD (source.force_share), .value = true },

  { GROUP_NBD, 0, "queue-size", "N",
    "bytes of NBD reads in flight, default 2m",
    SIZE (1, 1024 * 1024 * 1024), FIELD (source.queue_size) },
  { GROUP_NBD, 0, "queue-depth", "N",
    "number of NBD reads in flight, default 16",
    NUMBER (1, 1024), FIELD (source.queue_depth) },
  { GROUP_NBD, 0, "read-size", "N",
    "size of an NBD read, default 1m",
    SIZE (512, MAX_READ_SIZE), FIELD (source.read_size) },

  { GROUP_CHECK, 0, "check", NULL,
    "check the sums in the lists that are the operands",
    FIELD (check), .value = true,
    .excludes = "--check cannot be used with --tag, --no-names, --output, "
                "--zero, --manifest or --image-opts" },
  { GROUP_CHECK, 0, "expect", "SUM",
    "compare with [blk-DIGEST/SIZE:]SUM or manifest:FILE", FIELD (expect),
    .excludes = "--expect cannot be used with --check, --tag, --no-names, "
                "--output, --zero or --manifest" },
  { GROUP_CHECK, 0, "compare", NULL,
    "say where two images differ", FIELD (compare), .value = true,
    .excludes = "--compare cannot be used with --check, --expect, --tag, "
                "--no-names, --zero or --manifest" },
  { GROUP_CHECK, 0, "subset", "K/N",
    "only every N-th GiB, from the K-th, counted from 0", .set = set_subset,
    .needs = "--check, --expect or --compare" },
  { GROUP_CHECK, 'q', "quiet", NULL,
    "print only errors; stop at the first difference",
    FIELD (check_report), .value = CHECK_QUIET,
    .needs = "--check, --expect or --compare" },
  { GROUP_CHECK, 0, "status", NULL,
    "print nothing, the exit status tells",
    FIELD (check_report), .value = CHECK_STATUS, .needs = "--check" },
  { GROUP_CHECK, 'w', "warn", NULL,
    "say which lines are not properly formatted",
    FIELD (check_report), .value = CHECK_WARN, .needs = "--check" },
  { GROUP_CHECK, 0, "strict", NULL,
    "fail if a line is malformed, or sizes differ",
    FIELD (strict), .value = true, .needs = "--check or --compare" },
  { GROUP_CHECK, 0, "ignore-missing", NULL,
    "pass over files that do not exist",
    FIELD (ignore_missing), .value = true, .needs = "--check" },
  { GROUP_CHECK, 0, "allow-uris", NULL,
    "connect to the servers that lists name",
    FIELD (allow_uris), .value = true, .needs = "--check" },

  { GROUP_PARTS, 0, "part", "I/N",
    "write the manifest of part I of N, counted from 0", .set = set_part,
    .needs = "--manifest-dir",
    .excludes = "--part cannot be used with --check, --expect, --compare, "
                "--tag, --no-names, --output, --zero or --manifest" },
  { GROUP_PARTS, 0, "manifest-dir", "DIR",
    "where it is written: part-000000-of-000001.blkm", FIELD (manifest_dir),
    .needs = "--part" },
  { GROUP_PARTS, 0, "merge", NULL,
    "operands are manifests of parts: make that of all",
    FIELD (merge), .value = true, .needs = "--manifest",
    .excludes = "--merge cannot be used with --check, --expect, --compare, "
                "--part, --format, --image-opts or --size" },

  { GROUP_AGAIN, 0, "resume", NULL,
    "go on with a manifest that is not finished",
    FIELD (resume), .value = true, .needs = "--manifest",
    .excludes = "--resume cannot be used with --check, --expect, --compare, "
                "--part, --merge, --update or --force-share" },
  { GROUP_AGAIN, 0, "assume-unchanged", NULL,
    "a device or server is what it was",
    FIELD (assume_unchanged), .value = true, .needs = "--resume" },
  { GROUP_AGAIN, 0, "update", "OLD",
    "hash what has changed since the manifest OLD",
    FIELD (update), .needs = "--changed or --bitmap",
    .excludes = "--update cannot be used with --check, --expect, --compare, "
                "--part or --merge" },
  { GROUP_AGAIN, 0, "changed", "RANGES",
    "where that is: a JSON file of start and length", FIELD (changed),
    .needs = "--update" },
  { GROUP_AGAIN, 0, "bitmap", "NAME",
    "where that is: a dirty bitmap of the NBD server",
    FIELD (source.bitmap), .needs = "--update",
    .excludes = "--bitmap cannot be used with --changed" },
  { GROUP_AGAIN, 0, "audit", "N%",
    "how much of the rest to read again, default 0.1%",
    .set = set_audit, .needs = "--resume or --update" },

  { GROUP_OUTPUT, 0, "tag", NULL,
    "print how the sum was made: blk-sha256/64k (NAME) =",
    FIELD (form), .value = OUTPUT_TAG },
  { GROUP_OUTPUT, 0, "no-names", NULL,
    "print the sums alone", FIELD (names), .value = false },
  { GROUP_OUTPUT, 0, "output", "FORM",
    "human (default) or json, an object a line", .set = set_output },
  { GROUP_OUTPUT, 'z', "zero", NULL,
    "end lines with NUL, and escape no names",
    FIELD (zero_terminated), .value = true },
  { GROUP_OUTPUT, 0, "manifest", "FILE",
    "write the leaves to FILE; - is standard output", FIELD (manifest) },
  { GROUP_OUTPUT, 'h', "help", NULL,
    "print this and exit", .print = print_help },
  { GROUP_OUTPUT, 'V', "version", NULL,
    "print the version and exit", .print = lists_version },
  { .name = NULL },
};

static const char help_begin[] =
"Usage: blksum [OPTION]... [FILE|URI|-]...\n"
"       blksum --check [OPTION]... [LIST|-]...\n"
"       blksum --expect SUM [OPTION]... [FILE|URI|-]\n"
"       blksum --compare [OPTION]... A B\n"
"       blksum --part I/N --manifest-dir DIR [OPTION]... [FILE|URI|-]\n"
"       blksum --merge PART... --manifest FILE\n"
"       blksum --resume --manifest FILE [OPTION]... FILE|URI\n"
"       blksum --update OLD --changed RANGES --manifest NEW [OPTION]... FILE\n"
"       blksum --update OLD --bitmap NAME --manifest NEW [OPTION]... URI\n"
"Print the checksum of disk images: the same for raw, qcow2, and an NBD\n"
"export of one disk, and nearly free for its empty parts.\n"
"\n"
"With no operand, or when it is -, read standard input.\n"
"\n";

static const char help_end[] =
"\n"
"Sizes take the suffixes k, m and g.  Exit status: 0 all well, 1 a checksum\n"
"or an image differs, 2 could not tell (usage, open, read, lock).\n";

static void
print_help (void)
{
  fputs (help_begin, stdout);
  command_line_print (rows);
  fputs (help_end, stdout);
}

static void
set_defaults (struct options *options, int argc, char *argv[])
{
  long cpus = sysconf (_SC_NPROCESSORS_ONLN);

  *options = (struct options) {
    .hash = new_hash_opts (),
    .names = true,
    .progress_fd = -1,
    .audit = CHOICE_ALL / 1000,
    .argc = argc,
    .argv = argv,
    .source = {
      .size = SOURCE_WHOLE,
      .extents = true,
      .queue_size = 2 * 1024 * 1024,
      .queue_depth = 16,
      .read_size = 1024 * 1024,
      .objects = calloc (argc + 1, sizeof (char *)),
    },
  };
  if (!options->source.objects) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  /* The default of the library stops at 16. */
  if (cpus > 0)
    blkhash_opts_set_threads (options->hash,
                              cpus < MAX_THREADS ? cpus : MAX_THREADS);
}

void
options_parse (struct options *options, int argc, char *argv[])
{
  static char *standard_input[] = { (char *) "-", NULL };
  int first;

  set_defaults (options, argc, argv);
  first = command_line_parse (rows, options, argc, argv);
  settle_block_size (options);
  options->source.threads = blkhash_opts_get_threads (options->hash);

  options->operands = argv + first;
  options->nr_operands = argc - first;
  if (options->merge && options->nr_operands == 0)
    usage_error ("--merge needs manifests of parts");
  if (options->nr_operands == 0) {
    options->operands = standard_input;
    options->nr_operands = 1;
  }
  if (options->manifest && !options->merge && options->nr_operands > 1)
    usage_error ("--manifest is of one image");
  if (options->resume && strcmp (options->manifest, "-") == 0)
    usage_error ("--resume needs a file for --manifest, not standard output");
  if (options->update && !options->manifest)
    usage_error ("--update needs --manifest");
  if (options->source.bitmap && !*options->source.bitmap)
    usage_error ("--bitmap: a dirty bitmap has a name");
  if (options->part.n > 0 && options->nr_operands > 1)
    usage_error ("--part is of one image");
  if (options->compare && options->nr_operands != 2)
    usage_error ("--compare is of two images");
}

void
options_free (struct options *options)
{
  blkhash_opts_free (options->hash);
  free (options->source.objects);
}

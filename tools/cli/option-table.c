/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#include "../lib/common/strata.h"
#include "cli/command-line.h"
#include "cli/complete.h"
#include "cli/lists.h"
#include "cli/option-set.h"
#include "cli/option-table.h"
#include "cli/options.h"
#include "cli/usage.h"

#define MAX_THREADS 128
#define MAX_READ_SIZE (32 * 1024 * 1024) /* all NBD servers accept requests of
                                          * this size, unless they announce
                                          * another limit: see nbd/read.c */

static struct blkhash_opts *
new_hash_opts (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  if (!opts) {
    perror ("blksum: sha256");
    exit (EXIT_TROUBLE);
  }
  return opts;
}

static void print_help (void);

#define NUMBER(lowest, highest) .min = lowest, .max = highest
#define SIZE(lowest, highest) NUMBER (lowest, highest), .is_size = true

#define FIELD(name) \
  .field = offsetof (struct options, name), \
  .type = _Generic (((struct options *) NULL)->name, \
                    bool: FIELD_BOOL, const char *: FIELD_STRING, \
                    unsigned: FIELD_UNSIGNED, unsigned long: FIELD_LONG)

/* The groups in --help. */
enum {
  GROUP_HASH, GROUP_IMAGE, GROUP_NBD, GROUP_CHECK, GROUP_REPAIR, GROUP_PARTS,
  GROUP_INCREMENTAL, GROUP_OUTPUT
};

/* In the order of --help. */
static const struct option_row rows[] = {
  { GROUP_HASH, 'd', "digest", "SPEC",
    "DIGEST[/SIZE[/sN|/linear]]; default sha256/64k",
    .set = option_set_digest },
  { GROUP_HASH, 'l', "list-digests", NULL,
    "list the digests and exit", .print = lists_digests },
  { GROUP_HASH, 'b', "block-size", "N",
    "size of a block, default 64k; changes the sum",
    SIZE (0, UINT32_MAX), .set = option_set_block_size },
  { GROUP_HASH, 't', "threads", "N",
    "threads that hash, default: online CPUs",
    NUMBER (1, MAX_THREADS), .set = option_set_threads },
  { GROUP_HASH, 'p', "progress", "[=FD]",
    "show progress, or print lines N/100 to FD",
    NUMBER (0, INT_MAX), .set = option_set_progress },
  { GROUP_HASH, 'c', "cache", NULL,
    "use the page cache, and leave in it what was read",
    .set = option_set_cache },
  { GROUP_HASH, 0, "no-extents", NULL,
    "read everything, do not query extents",
    FIELD (hash.source.extents), .value = false },

  { GROUP_IMAGE, 'f', "format", "FMT",
    "raw, qcow2, vdi, vhdx, vmdk, vpc; default: probe",
    FIELD (hash.source.format) },
  { GROUP_IMAGE, 0, "size", "N",
    "the image is the first N bytes of the disk",
    SIZE (0, SOURCE_WHOLE - 1), .set = option_set_size },
  { GROUP_IMAGE, 'U', "force-share", NULL,
    "read an image that is in use",
    FIELD (hash.source.force_share), .value = true },

  { GROUP_NBD, 0, "queue-size", "N",
    "maximum bytes of NBD reads in flight",
    SIZE (1, 1024 * 1024 * 1024), FIELD (hash.source.queue_size) },
  { GROUP_NBD, 0, "queue-depth", "N",
    "maximum NBD reads in flight",
    NUMBER (1, 1024), FIELD (hash.source.queue_depth) },
  { GROUP_NBD, 0, "read-size", "N",
    "size of an NBD read, default 1m",
    SIZE (512, MAX_READ_SIZE), FIELD (hash.source.read_size) },

  { GROUP_CHECK, 0, "check", NULL,
    "check the sums in the lists that are the operands",
    FIELD (check), .value = true,
    .excludes = "--check cannot be used with --tag, --no-names, --output, "
                "--zero or --manifest" },
  { GROUP_CHECK, 0, "expect", "SUM",
    "compare with [blk-DIGEST/SIZE:]SUM or manifest:FILE", FIELD (expect),
    .excludes = "--expect cannot be used with --check, --tag, --no-names, "
                "--zero or --manifest" },
  { GROUP_CHECK, 0, "compare", NULL,
    "print where two images differ", FIELD (compare), .value = true,
    .excludes = "--compare cannot be used with --check, --expect, --tag, "
                "--no-names, --zero or --manifest" },
  { GROUP_CHECK, 0, "part", "I/N",
    "only part I of N, counted from 0",
    .set = option_set_part,
    .needs = "--check, --expect, --compare or --manifest-dir" },
  { GROUP_CHECK, 'q', "quiet", NULL,
    "print only errors; stop at the first difference",
    FIELD (verify.report), .value = CHECK_QUIET,
    .needs = "--check, --expect or --compare" },
  { GROUP_CHECK, 0, "status", NULL,
    "print nothing, only set the exit status",
    FIELD (verify.report), .value = CHECK_STATUS, .needs = "--check" },
  { GROUP_CHECK, 'w', "warn", NULL,
    "warn about improperly formatted lines",
    FIELD (verify.report), .value = CHECK_WARN, .needs = "--check" },
  { GROUP_CHECK, 0, "strict", NULL,
    "fail if a line is malformed, or sizes differ",
    FIELD (verify.strict), .value = true, .needs = "--check or --compare" },
  { GROUP_CHECK, 0, "ignore-missing", NULL,
    "ignore files that do not exist",
    FIELD (verify.ignore_missing), .value = true, .needs = "--check" },
  { GROUP_CHECK, 0, "allow-uris", NULL,
    "open URIs that are in a list",
    FIELD (verify.allow_uris), .value = true, .needs = "--check" },

  { GROUP_REPAIR, 0, "repair-from", "SRC",
    "replace bad blocks by those of SRC, if proven",
    .set = option_add_repair_source, .repeats = true, .needs = "--expect",
    .excludes = "--repair-from cannot be used with --part" },
  { GROUP_REPAIR, 0, "expect-sum", "HEX",
    "sum that proves the manifest of --expect, or none",
    FIELD (repair.expected_sum), .needs = "--repair-from" },
  { GROUP_REPAIR, 0, "repair-limit", "N%",
    "limit of bad blocks, in % of data blocks; default 1%",
    .set = option_set_repair_limit, .needs = "--repair-from" },
  { GROUP_REPAIR, 0, "dry-run", NULL,
    "only report what would be repaired",
    FIELD (repair.dry_run), .value = true, .needs = "--repair-from" },

  { GROUP_PARTS, 0, "manifest-dir", "DIR",
    "write the manifest of --part to DIR",
    FIELD (manifest_dir),
    .needs = "--part",
    .excludes = "--manifest-dir cannot be used with --check, --expect, "
                "--compare, --tag, --no-names, --output, --zero or "
                "--manifest" },
  { GROUP_PARTS, 0, "merge", NULL,
    "merge the operands, the manifests of all parts",
    FIELD (merge), .value = true, .needs = "--manifest",
    .excludes = "--merge cannot be used with --check, --expect, --compare, "
                "--part, --format or --size" },

  { GROUP_INCREMENTAL, 0, "update", "OLD",
    "hash what has changed since the manifest OLD",
    FIELD (update.old), .needs = "--changed or --bitmap",
    .excludes = "--update cannot be used with --check, --expect, --compare, "
                "--part or --merge" },
  { GROUP_INCREMENTAL, 0, "changed", "RANGES",
    "changed ranges, as a change tracker prints them",
    FIELD (update.changed), .needs = "--update" },
  { GROUP_INCREMENTAL, 0, "bitmap", "NAME",
    "changed ranges: dirty bitmap of the NBD server",
    FIELD (hash.source.bitmap), .needs = "--update",
    .excludes = "--bitmap cannot be used with --changed" },
  { GROUP_INCREMENTAL, 0, "audit", "N%",
    "unchanged blocks to verify, default 0.1%",
    .set = option_set_audit, .needs = "--update" },

  { GROUP_OUTPUT, 0, "tag", NULL,
    "print how the sum was made: blk-sha256/64k (NAME) =",
    FIELD (form), .value = OUTPUT_TAG },
  { GROUP_OUTPUT, 0, "no-names", NULL,
    "print only the sums", FIELD (names), .value = false },
  { GROUP_OUTPUT, 0, "output", "FORM",
    "human (default), json or, with --compare, mapfile",
    .words = "human json mapfile", .set = option_set_output },
  { GROUP_OUTPUT, 'z', "zero", NULL,
    "end lines with NUL, and escape no names",
    FIELD (zero_terminated), .value = true },
  { GROUP_OUTPUT, 0, "manifest", "FILE",
    "write the leaves to FILE; - is standard output", FIELD (hash.manifest) },
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
"       blksum --expect manifest:FILE --expect-sum SUM --repair-from SRC...\n"
"              [OPTION]... FILE\n"
"       blksum --compare [OPTION]... A B\n"
"       blksum --part I/N --manifest-dir DIR [OPTION]... [FILE|URI|-]\n"
"       blksum --merge PART... --manifest FILE\n"
"       blksum --update OLD --changed RANGES --manifest NEW [OPTION]... FILE\n"
"       blksum --update OLD --bitmap NAME --manifest NEW [OPTION]... URI\n"
"Print the checksum of disk images: the same for raw, qcow2, and an NBD\n"
"export of one disk, and nearly free for its empty parts.\n"
"\n"
"With no operand, or when it is -, read standard input.\n"
"\n";

static const char help_end[] =
"\n"
"Sizes take the suffixes k, m, g and t.  Exit status: 0 success, 1 a checksum\n"
"or an image differs, 2 trouble (usage, open, read, lock).\n";

static void
print_help (void)
{
  fputs (help_begin, stdout);
  command_line_print (rows);
  fputs (help_end, stdout);
}

/* Handle "--complete", which is not an option: the following words are the
 * partial command line.
 */
static void
print_completions (int argc, char *argv[])
{
  if (argc < 2 || strcmp (argv[1], "--complete") != 0)
    return;
  complete_print (rows, argc - 2, argv + 2);
  exit (fflush (stdout) == EOF ? EXIT_TROUBLE : EXIT_SUCCESS);
}

static void
set_defaults (struct options *options, int argc)
{
  long cpus = sysconf (_SC_NPROCESSORS_ONLN);

  *options = (struct options) {
    .hash = {
      .opts = new_hash_opts (),
      .source = {
        .size = SOURCE_WHOLE,
        .extents = true,
        .memory = SOURCE_MEMORY,
        .read_size = 1024 * 1024,
      },
    },
    .progress.fd = -1,
    .names = true,
    .update.audit = STRATA_DEFAULT,
    .repair = {
      .sources = calloc (argc + 1, sizeof (char *)),
      .limit = STRATA_ALL / 100,
    },
  };
  if (!options->repair.sources) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  /* Use all online CPUs: the default of the library is at most 16 threads. */
  if (cpus > 0)
    blkhash_opts_set_threads (options->hash.opts,
                              cpus < MAX_THREADS ? cpus : MAX_THREADS);
}

void
options_parse (struct options *options, int argc, char *argv[])
{
  static char *standard_input[] = { (char *) "-", NULL };
  int first;

  print_completions (argc, argv);
  set_defaults (options, argc);
  first = command_line_parse (rows, options, argc, argv);
  if (options->hash.source.format)
    option_check_format (options->hash.source.format);
  option_resolve_block_size (options);
  options->hash.source.threads = blkhash_opts_get_threads (options->hash.opts);

  options->operands = argv + first;
  options->nr_operands = argc - first;
  if (options->merge && options->nr_operands == 0)
    usage_error ("--merge needs manifests of parts");
  if (options->nr_operands == 0) {
    options->operands = standard_input;
    options->nr_operands = 1;
  }
  if (options->hash.manifest && !options->merge && options->nr_operands > 1)
    usage_error ("--manifest is for one image");
  if (options->update.old && !options->hash.manifest)
    usage_error ("--update needs --manifest");
  if (options->hash.source.bitmap && !*options->hash.source.bitmap)
    usage_error ("--bitmap: the name is empty");
  if (options->manifest_dir && options->nr_operands > 1)
    usage_error ("--manifest-dir is for one image");
  if (options->expect && options->nr_operands > 1)
    usage_error ("--expect is for one image");
  if (options->expect && options->form_chosen &&
      options->repair.nr_sources == 0)
    usage_error ("--expect cannot be used with --output");
  if (options->repair.nr_sources > 0 && !options->repair.expected_sum)
    usage_error ("--repair-from needs --expect-sum SUM, the checksum that "
                 "proves the manifest, because the manifest decides what is "
                 "written; or --expect-sum none, to trust it");
  if (options->compare && options->nr_operands != 2)
    usage_error ("--compare needs two images");
  if (options->form == OUTPUT_MAPFILE &&
      (!options->compare || options->verify.report != CHECK_ALL))
    usage_error ("--output=mapfile needs --compare, without --quiet");
}

void
options_free (struct options *options)
{
  blkhash_opts_free (options->hash.opts);
  free (options->repair.sources);
}

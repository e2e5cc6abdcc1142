/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of blksum.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#include "cli/options.h"
#include "cli/usage.h"
#include "format/format.h"

#define DEFAULT_QUEUE_SIZE (2 * 1024 * 1024)
#define DEFAULT_QUEUE_DEPTH 16
#define DEFAULT_READ_SIZE (1024 * 1024)
#define MAX_QUEUE_DEPTH 1024
#define MAX_THREADS 128
#define MAX_READ_SIZE (32 * 1024 * 1024) /* what every NBD server takes */
#define MAX_QUEUE_SIZE (1024 * 1024 * 1024)

enum {
  IMAGE_OPTS_OPTION = CHAR_MAX + 1,
  NO_EXTENTS_OPTION,
  NO_NAMES_OPTION,
  OBJECT_OPTION,
  OUTPUT_OPTION,
  QUEUE_DEPTH_OPTION,
  QUEUE_SIZE_OPTION,
  READ_SIZE_OPTION,
  STREAMS_OPTION,
  TAG_OPTION,
  CACHE_OPTION,
};

static const char short_options[] = ":b:cd:f:hlpt:UVz";
static const struct option long_options[] = {
  { "block-size",   required_argument, NULL, 'b' },
  { "cache",        no_argument,       NULL, CACHE_OPTION },
  { "digest",       required_argument, NULL, 'd' },
  { "force-share",  no_argument,       NULL, 'U' },
  { "format",       required_argument, NULL, 'f' },
  { "help",         no_argument,       NULL, 'h' },
  { "image-opts",   no_argument,       NULL, IMAGE_OPTS_OPTION },
  { "list-digests", no_argument,       NULL, 'l' },
  { "no-extents",   no_argument,       NULL, NO_EXTENTS_OPTION },
  { "no-names",     no_argument,       NULL, NO_NAMES_OPTION },
  { "object",       required_argument, NULL, OBJECT_OPTION },
  { "output",       required_argument, NULL, OUTPUT_OPTION },
  { "progress",     optional_argument, NULL, 'p' },
  { "queue-depth",  required_argument, NULL, QUEUE_DEPTH_OPTION },
  { "queue-size",   required_argument, NULL, QUEUE_SIZE_OPTION },
  { "read-size",    required_argument, NULL, READ_SIZE_OPTION },
  { "streams",      required_argument, NULL, STREAMS_OPTION },
  { "tag",          no_argument,       NULL, TAG_OPTION },
  { "threads",      required_argument, NULL, 't' },
  { "version",      no_argument,       NULL, 'V' },
  { "zero",         no_argument,       NULL, 'z' },
  { NULL }
};

/* What was printed must have arrived. */
static void finish_stdout (void) __attribute__ ((noreturn));

static void
finish_stdout (void)
{
  if (fflush (stdout) == EOF || ferror (stdout)) {
    perror ("blksum: write error");
    exit (EXIT_TROUBLE);
  }
  exit (EXIT_SUCCESS);
}

static void
list_digests (void)
{
  size_t i, count = blkhash_digests (NULL, 0);
  const char **names = calloc (count, sizeof *names);

  if (!names) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  blkhash_digests (names, count);
  for (i = 0; i < count; i++)
    puts (names[i]);
  free (names);
  finish_stdout ();
}

/* A number from MIN to MAX, with a suffix if SUFFIXES. */
static uint64_t
parse_number (const char *option, const char *arg, bool suffixes,
              uint64_t min, uint64_t max)
{
  static const char units[] = "kmg";
  const char *unit;
  uint64_t value;
  char *end;

  errno = 0;
  value = strtoull (arg, &end, 10);
  if (!isdigit ((unsigned char) arg[0]) || errno != 0)
    usage_error ("--%s: invalid number '%s'", option, arg);
  if (suffixes && *end) {
    unit = strchr (units, tolower ((unsigned char) *end));
    if (unit && end[1] == '\0') {
      unsigned shift = 10 * (unit - units + 1);

      if (value > UINT64_MAX >> shift)
        usage_error ("--%s: '%s' is too large", option, arg);
      value <<= shift;
      end++;
    }
  }
  if (*end)
    usage_error ("--%s: invalid %s '%s'", option,
                 suffixes ? "size" : "number", arg);
  if (value < min || value > max)
    usage_error ("--%s: '%s' is not between %llu and %llu", option, arg,
                 (unsigned long long) min, (unsigned long long) max);
  return value;
}

static void
parse_progress (struct options *options, const char *arg)
{
  if (arg) {
    options->progress_fd = parse_number ("progress", arg, false, 0, INT_MAX);
    options->progress_bar = false;
    if (fcntl (options->progress_fd, F_GETFD) == -1)
      usage_error ("--progress: descriptor %s is not open", arg);
  }
  else {
    options->progress_fd = isatty (STDERR_FILENO) ? STDERR_FILENO : -1;
    options->progress_bar = true;
  }
}

static void
parse_block_size (struct options *options, const char *arg)
{
  uint64_t size = parse_number ("block-size", arg, true, 0, UINT32_MAX);

  if (blkhash_opts_set_block_size (options->hash, size) != 0)
    usage_error ("--block-size: '%s' is not a power of two from 4 to 16m",
                 arg);
}

static void
parse_output (struct options *options, const char *arg)
{
  if (strcmp (arg, "json") == 0)
    options->form = OUTPUT_JSON;
  else if (strcmp (arg, "human") == 0)
    options->form = OUTPUT_PLAIN;
  else
    usage_error ("--output: '%s' is neither human nor json", arg);
}

static struct blkhash_opts *
new_hash_opts (const char *digest)
{
  struct blkhash_opts *opts = blkhash_opts_new (digest);

  if (!opts && errno == EINVAL)
    usage_error ("unknown digest '%s', see --list-digests", digest);
  if (!opts) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  return opts;
}

/* The digest makes a new blkhash_opts: keep what was set before it. */
static void
set_digest (struct options *options, const char *digest)
{
  struct blkhash_opts *old = options->hash;

  options->hash = new_hash_opts (digest);
  blkhash_opts_set_block_size (options->hash,
                               blkhash_opts_get_block_size (old));
  blkhash_opts_set_threads (options->hash, blkhash_opts_get_threads (old));
  blkhash_opts_set_streams (options->hash, blkhash_opts_get_streams (old));
  blkhash_opts_free (old);
}

/* The library's default stops at 16. */
static void
set_default_threads (struct options *options)
{
  long n = sysconf (_SC_NPROCESSORS_ONLN);

  if (n > MAX_THREADS)
    n = MAX_THREADS;
  if (n > 0)
    blkhash_opts_set_threads (options->hash, n);
}

static void
parse_option (struct options *options, int c, char *argv[])
{
  switch (c) {
  case 'b':
    parse_block_size (options, optarg);
    break;
  case 'c':
    options->source.refuse_sums = true;
    /* fall through */
  case CACHE_OPTION:
    options->source.cache = true;
    break;
  case 'd':
    set_digest (options, optarg);
    break;
  case 'f':
    options->source.format = optarg;
    break;
  case 'p':
    parse_progress (options, optarg);
    break;
  case 't':
    blkhash_opts_set_threads (options->hash,
                              parse_number ("threads", optarg, false, 1,
                                            MAX_THREADS));
    break;
  case 'U':
    options->source.force_share = true;
    break;
  case 'z':
    options->zero_terminated = true;
    break;
  case IMAGE_OPTS_OPTION:
    options->source.image_opts = true;
    break;
  case NO_EXTENTS_OPTION:
    options->source.extents = false;
    break;
  case NO_NAMES_OPTION:
    options->names = false;
    break;
  case OBJECT_OPTION:
    options->source.objects[options->source.nr_objects++] = optarg;
    break;
  case OUTPUT_OPTION:
    parse_output (options, optarg);
    break;
  case QUEUE_DEPTH_OPTION:
    options->source.queue_depth = parse_number ("queue-depth", optarg, false, 1,
                                         MAX_QUEUE_DEPTH);
    break;
  case QUEUE_SIZE_OPTION:
    options->source.queue_size = parse_number ("queue-size", optarg, true, 1,
                                        MAX_QUEUE_SIZE);
    break;
  case READ_SIZE_OPTION:
    options->source.read_size = parse_number ("read-size", optarg, true, 512,
                                       MAX_READ_SIZE);
    break;
  case STREAMS_OPTION:
    blkhash_opts_set_streams (options->hash,
                              parse_number ("streams", optarg, false, 0,
                                            1024));
    break;
  case TAG_OPTION:
    options->form = OUTPUT_TAG;
    break;
  case 'h':
    usage_print ();
    finish_stdout ();
  case 'l':
    list_digests ();
    break;
  case 'V':
    puts ("blksum (" PACKAGE_NAME ") " PACKAGE_VERSION);
    finish_stdout ();
  case ':':
    usage_error ("option '%s' needs an argument", argv[optind - 1]);
  default:
    usage_unknown_option (long_options, argv[optind - 1]);
  }
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

static void
check_together (const struct options *options)
{
  if (options->source.image_opts && options->source.format)
    usage_error ("--format goes into the operand with --image-opts: "
                 "driver=%s,...", options->source.format);
  if (options->source.nr_objects > 0 && !options->source.image_opts)
    usage_error ("--object needs --image-opts");
  if (options->source.format)
    check_format (options->source.format);
}

void
options_parse (struct options *options, int argc, char *argv[])
{
  static char *standard_input[] = { (char *) "-", NULL };
  int c;

  *options = (struct options) {
    .hash = new_hash_opts ("sha256"),
    .names = true,
    .progress_fd = -1,
    .source = {
      .extents = true,
      .queue_size = DEFAULT_QUEUE_SIZE,
      .queue_depth = DEFAULT_QUEUE_DEPTH,
      .read_size = DEFAULT_READ_SIZE,
      .objects = calloc (argc + 1, sizeof (char *)),
    },
  };
  if (!options->source.objects) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  set_default_threads (options);
  opterr = 0;
  while ((c = getopt_long (argc, argv, short_options, long_options,
                           NULL)) != -1)
    parse_option (options, c, argv);
  check_together (options);
  options->source.threads = blkhash_opts_get_threads (options->hash);

  options->operands = argv + optind;
  options->nr_operands = argc - optind;
  if (options->nr_operands == 0) {
    options->operands = standard_input;
    options->nr_operands = 1;
  }
}

void
options_free (struct options *options)
{
  blkhash_opts_free (options->hash);
  free (options->source.objects);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a sum is made, as text: blk-sha256/64k, blk-sha256/64k/s64 for streams,
 * or blk-sha256/4m/linear.
 */

#ifndef BLKHASH_SUM_TAG_H
#define BLKHASH_SUM_TAG_H

struct blkhash_opts;

/* The caller frees the string; NULL: no memory. */
char *sum_tag (const struct blkhash_opts *opts);

/* The options that TEXT says, which must be spelled as sum_tag does.  The
 * caller frees them.  NULL with errno set: EINVAL, it is no such text, or there
 * is no such digest here; ENOMEM.
 */
struct blkhash_opts *sum_tag_parse (const char *text);

#endif /* BLKHASH_SUM_TAG_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Select the digest and block size of a comparison.
 */

#ifndef BLKSUM_COMPARE_PARAMS_H
#define BLKSUM_COMPARE_PARAMS_H

struct blkhash_opts;
struct error;
struct compare_input;

struct compare_params {
  const struct blkhash_opts *opts;
  struct blkhash_opts *owned;   /* to be freed, or NULL */
};

/* If one of the two INPUTS is a manifest, select its digest and block size.  It
 * is an error if two manifests differ in these, or if the user chose another
 * digest or another block size.  For two images, select the block size of the
 * options, and the digest that the user chose.  If the user chose none, or if
 * the bytes are compared because BOTH has a source, select the fastest suitable
 * digest.  BOTH is the result of compare_input_open_both.  Returns 0, or -1
 * with the reason, which is about inputs[*FAILED].  PARAMS must be freed either
 * way.
 */
int compare_params_choose (struct compare_params *params,
                           const struct compare_input *inputs,
                           const struct compare_input *both, unsigned *failed,
                           struct error *error);
void compare_params_free (struct compare_params *params);

#endif /* BLKSUM_COMPARE_PARAMS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Manifests, beyond the public API, for our programs.
 */

#ifndef BLKHASH_MANIFEST_MANIFEST_H
#define BLKHASH_MANIFEST_MANIFEST_H

#include <stddef.h>

struct blkhash_manifest_reader;
struct blkhash_manifest_writer;

/* The first bytes of a manifest: see blkhash-manifest(5). */
#define MANIFEST_MAGIC "blkhash-manifest "

/* Read the manifest in FD, from its offset to its end, and validate all but its
 * sum, which is not computed, so this takes only as long as reading the file.
 * Returns 0.  Otherwise stores the reason in REASON, as
 * blkhash_manifest_reader_new does, and returns EBADMSG if the file is not a
 * manifest, or is damaged; or another error if this is not known: for example
 * ENOMEM, EIO, or ENOTSUP for a later version.
 */
int manifest_validate (int fd, char *reason, size_t size);

/* ---- Plans ----
 *
 * The key "plan" in the header of the manifest of a part is the SHA-256 of the
 * plan by which the part was made, so that parts of different plans are not
 * merged.  Other readers ignore it.  The manifest of a whole image has none:
 * two manifests of one image are equal.
 */

/* Set the key "plan" in the header to PLAN, 64 lowercase hexadecimal digits.
 * Returns 0; or EINVAL if the header is already in the file, or if W has
 * received blocks or does not know the size of the image yet.
 */
int manifest_writer_set_plan (struct blkhash_manifest_writer *w,
                              const char *plan);

/* Returns the value of the key "plan" in the header: 64 digits, or "" if there
 * is none, or it has another form.  It can be used until R is freed.
 */
const char *manifest_reader_plan (const struct blkhash_manifest_reader *r);

#endif /* BLKHASH_MANIFEST_MANIFEST_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The key "plan" in the header of the manifest of a part: the SHA-256 of the
 * plan by which the part was made, so that parts of different plans are not
 * merged.  Other readers ignore it.  The manifest of a whole image has none:
 * two manifests of one image are equal.
 */

#ifndef BLKHASH_MANIFEST_MANIFEST_H
#define BLKHASH_MANIFEST_MANIFEST_H

struct blkhash_manifest_reader;
struct blkhash_manifest_writer;

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

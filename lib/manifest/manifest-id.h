/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ID in the header of a manifest, by which its program can find out what
 * else belongs to it.  Other readers ignore it.  Two manifests of one image are
 * equal only if neither has an ID.
 */

#ifndef BLKHASH_MANIFEST_ID_H
#define BLKHASH_MANIFEST_ID_H

struct blkhash_manifest_reader;
struct blkhash_manifest_writer;

/* Set the key "id" in the header to ID: printable ASCII, without a newline.
 * Returns 0; or EINVAL if the header is already in the file, if W has received
 * blocks or does not know the size of the image yet, or if ID has 64 bytes or
 * more.
 */
int manifest_writer_set_id (struct blkhash_manifest_writer *w, const char *id);

/* Returns the value of the key "id" in the header, or "".  It is valid until R
 * is freed.
 */
const char *manifest_reader_id (const struct blkhash_manifest_reader *r);

#endif /* BLKHASH_MANIFEST_ID_H */

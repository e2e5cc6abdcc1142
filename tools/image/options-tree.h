/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse the options of an image, in the syntax of --image-opts, into a tree.
 * The same tree is checked and then passed to qemu.
 */

#ifndef BLKSUM_OPTIONS_TREE_H
#define BLKSUM_OPTIONS_TREE_H

struct error;
struct json_object;

/* The maximum number of names in a key, such as 2 in "file.filename". */
#define OPTIONS_TREE_DEPTH 64

/* Parse KEY=VALUE,KEY=VALUE: "file.filename=x" becomes "filename" in the object
 * "file".  The values are strings, or null for "backing=", which means that
 * there is no backing file.  Contradictory options are refused.  The caller
 * drops the reference to the tree with json_object_put.  Returns NULL on error,
 * with the reason in *ERROR.
 */
struct json_object *options_tree_parse (const char *text,
                                        struct error *error);

#endif /* BLKSUM_OPTIONS_TREE_H */

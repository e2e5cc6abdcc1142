/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The image options describe block nodes of qemu.  The storage of a node is the
 * node itself or, if this is raw, the first node below it that is not raw.  Raw
 * nodes can have an offset and a size, so that they expose only a part of the
 * storage.
 */

#ifndef BLKSUM_STORAGE_H
#define BLKSUM_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"
#include "image/layer.h"
#include "image/options-tree.h"
#include "util/error.h"

/* A check of all nodes of an image. */
struct node_check {
  const struct layer_context *context;
  uint64_t *size;               /* set to the size of the disk, or 0 */
  struct error *error;
};

/* A node that the options describe. */
struct node {
  struct json_object *options;  /* NULL: none are given */
  /* Prefix of its keys in the options as text: "", "file.", "backing.file." */
  char prefix[OPTIONS_TREE_DEPTH * sizeof "data-file"];
};

/* Returns the value of an option; or NULL if it is not given, is null, or has
 * suboptions.
 */
const char *node_get (const struct node *node, const char *name);

/* Is an option NAME given, or an option of a child NAME? */
bool node_has (const struct node *node, const char *name);

/* Set CHILD to the child NAME of NODE.  CHILD and NODE can be the same object.
 */
void node_set_child (const struct node *node, const char *name,
                     struct node *child);

/* LOCAL is a local file or device, REMOTE any other raw data, such as an NBD
 * export, and FORMAT a node in an image format other than raw.
 */
enum storage_kind { LOCAL, REMOTE, FORMAT };

struct storage {
  enum storage_kind kind;
  struct node node;
  const char *driver;           /* LOCAL: can be NULL */
  uint64_t start, len;          /* the part that the raw nodes expose, bytes */
  char *path;                   /* LOCAL: path of the open file */
  struct imagefile file;        /* LOCAL: this part of the open file */
};

#define STORAGE_NONE { .len = UINT64_MAX }

/* Set STORAGE, which must be STORAGE_NONE, to NODE, or to the first node below
 * it that is not raw.  A local file is opened.  If IS_FILE is set, NODE is the
 * "file" or "data-file" of another node, so its driver can be omitted.  Returns
 * 0, or -1 on error.  Call storage_destroy in both cases.
 */
int storage_find (struct storage *storage, const struct node_check *check,
                  const struct node *node, bool is_file);

void storage_destroy (struct storage *storage);

#endif /* BLKSUM_STORAGE_H */

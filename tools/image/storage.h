/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a node of the options of an image is stored in: what there is behind raw
 * nodes, and which part of it they show.
 */

#ifndef BLKSUM_STORAGE_H
#define BLKSUM_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"
#include "image/layer.h"
#include "image/options-tree.h"
#include "util/error.h"

/* The text of the options, and for whom they are looked at. */
struct nodes {
  const char *opts;
  const struct layer_context *context;
  struct error *error;
};

/* One node of the options. */
struct node {
  struct json_object *options;  /* NULL: none are given */
  /* How its keys start in the text: "", "file.", "backing.file." ... */
  char prefix[OPTIONS_TREE_DEPTH * sizeof "data-file"];
};

/* The value of an option, NULL if it is not given. */
const char *node_get (const struct node *node, const char *name);

/* Is an option NAME given, or are options of a child NAME? */
bool node_has (const struct node *node, const char *name);

/* Set CHILD, which can be the same as NODE. */
void node_set_child (const struct node *node, const char *name,
                     struct node *child);

enum storage_kind { LOCAL, REMOTE, FORMAT };

struct storage {
  enum storage_kind kind;
  struct node node;
  const char *driver;           /* LOCAL: can be NULL */
  uint64_t start, len;          /* the part that is seen */
  char *path;                   /* LOCAL: of the open file */
  struct imagefile file;        /* LOCAL: the part of it, if it has it */
};

#define STORAGE_NONE { .len = UINT64_MAX }

/* Set STORAGE, which is none, to what NODE is behind raw nodes.  IS_FILE: it is
 * what another node is stored in, so that its driver need not be given.  0 or
 * -1.
 */
int storage_find (struct storage *storage, const struct nodes *nodes,
                  const struct node *node, bool is_file);

void storage_destroy (struct storage *storage);

#endif /* BLKSUM_STORAGE_H */

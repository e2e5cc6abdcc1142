/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a node of an option string of qemu is stored in: what there is behind
 * raw nodes, and which part of it they show.
 */

#ifndef BLKSUM_STORAGE_H
#define BLKSUM_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"
#include "image/layer.h"
#include "util/error.h"

/* The options, and for whom they are looked at. */
struct nodes {
  const char *opts;
  const struct layer_context *context;
  struct error *error;
};

/* What the options of one node start with. */
#define MAX_PREFIX 256

struct prefix {
  char text[MAX_PREFIX];
};

/* The value of the option NAME of a node, NULL if there is none.  The caller
 * frees it.
 */
char *nodes_get (const struct nodes *nodes, const struct prefix *prefix,
                 const char *name);

/* Has the node an option NAME, or options of a child NAME? */
bool nodes_have (const struct nodes *nodes, const struct prefix *prefix,
                 const char *name);

/* Set OUT, which can be the same as PREFIX, to the prefix of a child.  0 or
 * -1.
 */
int nodes_set_child (const struct nodes *nodes, const struct prefix *prefix,
                     const char *child, struct prefix *out);

enum storage_kind { LOCAL, REMOTE, FORMAT };

struct storage {
  enum storage_kind kind;
  struct prefix prefix;
  char *driver;                 /* LOCAL: can be NULL */
  uint64_t start, len;          /* the part that is seen */
  char *path;                   /* LOCAL: of the open file */
  struct imagefile file;        /* LOCAL: the part of it, if it has it */
};

#define STORAGE_NONE { .len = UINT64_MAX }

/* Set STORAGE, which is none, to what the node with PREFIX is behind raw
 * nodes.  IS_FILE: it is what another node is stored in, so that its driver
 * need not be given.  0 or -1.
 */
int storage_find (struct storage *storage, const struct nodes *nodes,
                  const struct prefix *prefix, bool is_file);

void storage_destroy (struct storage *storage);

#endif /* BLKSUM_STORAGE_H */

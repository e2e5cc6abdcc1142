/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print trailing data after an image on its disk, as a line or as JSON.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/trailing-data.h"
#include "cli/verdict.h"
#include "util/result.h"

int
follows_print (const char *name, const struct follows *follows)
{
  char text[128] = "";

  switch (follows->what) {
  case FOLLOWS_NOTHING:
    return 0;
  case FOLLOWS_UNREAD:
    snprintf (text, sizeof text, "what follows was not read");
    break;
  case FOLLOWS_ZERO:
    snprintf (text, sizeof text, "what follows is zero, %" PRIu64 " bytes",
              follows->len);
    break;
  case FOLLOWS_DATA:
    snprintf (text, sizeof text,
              "what follows is not zero, from offset %" PRIu64 " on",
              follows->offset);
    break;
  case FOLLOWS_BLOCK:
    snprintf (text, sizeof text,
              "what follows is not zero, from the block at offset %" PRIu64
              " on", follows->offset);
    break;
  }
  return verdict_print (name, text);
}

void
follows_print_json (const struct follows *follows)
{
  bool zero = follows->what == FOLLOWS_NOTHING ||
    follows->what == FOLLOWS_ZERO;

  if (follows->what == FOLLOWS_UNREAD) {
    fputs ("null", stdout);
    return;
  }
  printf ("{\"length\": %" PRIu64 ", \"zero\": %s", follows->len,
          zero ? "true" : "false");
  if (!zero)
    printf (", \"start\": %" PRIu64, follows->offset);
  putchar ('}');
}

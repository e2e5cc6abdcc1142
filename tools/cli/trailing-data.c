/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Report the trailing data after an image on its disk, as a line or as JSON.
 */

#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/trailing-data.h"
#include "cli/verdict.h"
#include "util/result.h"

int
trailing_data_print (const char *name, const struct trailing_data *trailing)
{
  char text[128] = "";

  switch (trailing->state) {
  case TRAILING_NONE:
    return 0;
  case TRAILING_UNREAD:
    snprintf (text, sizeof text, "what follows was not read");
    break;
  case TRAILING_ZERO:
    snprintf (text, sizeof text, "what follows is zero, %" PRIu64 " bytes",
              trailing->len);
    break;
  case TRAILING_DATA:
    snprintf (text, sizeof text,
              "what follows is not zero, from offset %" PRIu64 " on",
              trailing->offset);
    break;
  case TRAILING_BLOCK:
    snprintf (text, sizeof text,
              "what follows is not zero, from the block at offset %" PRIu64
              " on", trailing->offset);
    break;
  }
  return verdict_print (name, text);
}

void
trailing_data_print_json (const struct trailing_data *trailing)
{
  bool zero = trailing->state == TRAILING_NONE ||
    trailing->state == TRAILING_ZERO;

  if (trailing->state == TRAILING_UNREAD) {
    fputs ("null", stdout);
    return;
  }
  printf ("{\"length\": %" PRIu64 ", \"zero\": %s", trailing->len,
          zero ? "true" : "false");
  if (!zero)
    printf (", \"start\": %" PRIu64, trailing->offset);
  putchar ('}');
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names in JSON.
 */

#ifndef BLKSUM_JSON_NAME_H
#define BLKSUM_JSON_NAME_H

#include <json-c/json.h>

/* JSON is UTF-8, names are bytes: what is not UTF-8 becomes U+FFFD.  NULL if
 * there is no memory.
 */
struct json_object *json_name (const char *name);

#endif /* BLKSUM_JSON_NAME_H */

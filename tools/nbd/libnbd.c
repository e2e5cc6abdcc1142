/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../lib/common/util.h"
#include "nbd/libnbd.h"

#ifdef __APPLE__
#define SONAME "libnbd.0.dylib"
#else
#define SONAME "libnbd.so.0"
#endif

/* Packaging tools read this note to find dependencies that are not in
 * DT_NEEDED: https://systemd.io/ELF_DLOPEN_METADATA/
 */
#ifdef __ELF__
#define NOTE_OWNER "FDO"
#define NOTE_TYPE 0x407c0c0a
#define NOTE_TEXT \
  "[{\"soname\":[\"" SONAME "\"],\"feature\":\"nbd\"," \
  "\"description\":\"NBD, and formats of images other than raw\"," \
  "\"priority\":\"recommended\"}]"

static const struct {
  uint32_t owner_size, text_size, type;
  char owner[sizeof NOTE_OWNER];
  _Alignas (4) char text[sizeof NOTE_TEXT];
} note __attribute__ ((used, aligned (4), section (".note.dlopen"))) = {
  sizeof NOTE_OWNER, sizeof NOTE_TEXT, NOTE_TYPE, NOTE_OWNER, NOTE_TEXT
};
#endif

struct libnbd libnbd;           /* constant after libnbd was loaded */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects LOADED */
static bool loaded;

static int
fail (char *reason, size_t size, const char *what)
{
  snprintf (reason, size, "%s libnbd: %s", what, dlerror ());
  return -1;
}

/* libnbd is never unloaded, because threads may still have its thread-specific
 * data.
 */
static int
load_locked (char *reason, size_t size)
{
  static const struct {
    const char *name;
    void **address;
  } functions[] = {
#define F(name) { "nbd_" #name, (void **) &libnbd.name },
    LIBNBD_FUNCTIONS (F)
#undef F
  };
  void *library = dlopen (SONAME, RTLD_LAZY | RTLD_LOCAL);
  size_t i;

  if (!library)
    return fail (reason, size, "cannot load");
  for (i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    *functions[i].address = dlsym (library, functions[i].name);
    if (!*functions[i].address)
      return fail (reason, size, "cannot use");
  }
  return 0;
}

/* After a failure the next call tries again, because the cause can be the limit
 * of open files, and other images may have been closed by then.
 */
int
libnbd_load (char *reason, size_t size)
{
  SCOPED_LOCK (&lock);

  if (!loaded)
    loaded = load_locked (reason, size) == 0;
  return loaded ? 0 : -1;
}

const char *
nbd_error_text (void)
{
  const char *text = nbd_get_error ();
  const char *p = text;

  if (!text)
    return "the server closed the connection";
  while (islower ((unsigned char) *p) || isdigit ((unsigned char) *p) ||
         *p == '_')
    p++;
  return strncmp (text, "nbd_", 4) == 0 && strncmp (p, ": ", 2) == 0
    ? p + 2 : text;
}

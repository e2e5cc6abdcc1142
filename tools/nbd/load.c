/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libnbd, loaded when it is needed.
 */

#include <config.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../lib/common/cleanup.h"
#include "nbd/load.h"
#include "util/error.h"

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

/* libnbd is never unloaded, because threads may still have its thread-specific
 * data.
 */
static int
load_locked (struct error *error)
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
    return error_set (error, "cannot load libnbd: %s", dlerror ());
  for (i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    *functions[i].address = dlsym (library, functions[i].name);
    if (!*functions[i].address)
      return error_set (error, "cannot use libnbd: %s", dlerror ());
  }
  return 0;
}

/* A failure is not recorded.  It can be caused by the limit of open files, and
 * other images may be closed before the next call.
 */
int
libnbd_load (struct error *error)
{
  SCOPED_LOCK (&lock);

  if (!loaded)
    loaded = load_locked (error) == 0;
  return loaded ? 0 : -1;
}

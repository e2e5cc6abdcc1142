/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libnbd, loaded when it is needed.
 */

#include <config.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

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

struct libnbd libnbd;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error load_error; /* why it could not be loaded; set once */

/* libnbd is never unloaded: threads of gnutls may still run in it. */
static void
load (void)
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

  if (!library) {
    error_set (&load_error, "cannot load libnbd: %s", dlerror ());
    return;
  }
  for (i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    *functions[i].address = dlsym (library, functions[i].name);
    if (!*functions[i].address) {
      error_set (&load_error, "cannot use libnbd: %s", dlerror ());
      return;
    }
  }
}

int
libnbd_load (struct error *error)
{
  pthread_once (&once, load);
  if (error_is_set (&load_error))
    return error_set (error, "%s", load_error.text);
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libnbd, loaded when it is needed.
 */

#include <config.h>

#include <dlfcn.h>
#include <pthread.h>

#include "nbd/load.h"
#include "util/error.h"

#ifdef __APPLE__
#define SONAME "libnbd.0.dylib"
#else
#define SONAME "libnbd.so.0"
#endif

struct libnbd libnbd;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error load_error; /* why it could not be loaded; set once */

/* It is never unloaded: threads of gnutls may be left in it. */
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts the calls of library functions that can fail, and lets one of them
 * fail: to be preloaded, by callrun.py.
 *
 * $CALL_FAULT is FUNCTION:N:ERROR: the Nth call of FUNCTION fails with the errno
 * value ERROR; 0 means a short count instead.  With FUNCTION:N:ERROR:on all later
 * calls fail too.  $CALL_FAULT_FILE is a file of sizeof (struct shared) bytes,
 * which receives the counts and backtraces.
 *
 * Only calls of the program itself count, and of the libraries that it uses:
 * from main on, without those of the dynamic loader, which ends the program if it
 * has no memory.  A child process counts too until it executes another program: this
 * library is not preloaded into that.
 *
 * With $CALL_FAULT_MODULE only the calls of that module of nbdkit count: see
 * call-faults-module.c.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call-faults.h"

#ifndef __GLIBC__
#error "the memory functions of glibc are needed"
#endif

#define FRAMES 24

/* callrun.py reads it. */
static struct shared {
  struct {
    char name[60];
    atomic_uint count;
  } functions[128];
  char fault[4096];             /* the backtrace of the first call that failed,
                                 * as lines FILE+OFFSET */
  char crash[4096];             /* that of a signal that ends the program */
  char leak[4092];              /* that of memory which a module did not free */
  unsigned leaks;
} *shared;

_Static_assert (CALL_COUNT <= 128, "struct shared is too small");

static const char *const names[] = {
#define F(name) #name,
  CALL_FUNCTIONS (F)
#undef F
};

static int (*program_main) (int, char **, char **);
static atomic_bool counting;

/* The addresses of the dynamic loader, and of the program with the libraries
 * that it cannot do without, but OpenSSL.
 */
struct range {
  uintptr_t start, end;
};
static struct range loader, own[32];
static size_t nr_own;

static pid_t program;

static struct {
  int function;                 /* -1: none */
  unsigned at;
  int error;
  bool on;
} plan = { .function = -1 };

/* ---- Before main ---- */

static void __attribute__ ((noreturn))
die (const char *why)
{
  dprintf (STDERR_FILENO, "call-faults: %s\n", why);
  _exit (125);
}

static void *
real_dlsym (void *handle, const char *name)
{
  static void *(*real) (void *, const char *);
  static const char *const versions[] = {
    "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"
  };

  for (size_t i = 0; !real && i < sizeof versions / sizeof versions[0]; i++)
    real = (void *(*) (void *, const char *)) dlvsym (RTLD_NEXT, "dlsym",
                                                      versions[i]);
  if (!real)
    die ("cannot find dlsym");
  return real (handle, name);
}

void *
call_real (const char *name)
{
  void *real = real_dlsym (RTLD_NEXT, name);

  if (!real)
    die (name);
  return real;
}

static void
parse_plan (const char *text)
{
  char name[64], on[8];
  int fields = sscanf (text, "%63[^:]:%u:%d:%7s", name, &plan.at, &plan.error,
                       on);

  for (int i = 0; i < CALL_COUNT && fields >= 3; i++)
    if (strcmp (names[i], name) == 0)
      plan.function = i;
  if (plan.function == -1)
    die ("invalid CALL_FAULT");
  plan.on = fields == 4;
}

static void
map_shared (const char *path)
{
  int fd = open (path, O_RDWR | O_CLOEXEC);

  shared = mmap (NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                 0);
  if (fd == -1 || shared == MAP_FAILED)
    die (path);
  close (fd);
  for (int i = 0; i < CALL_COUNT; i++)
    strcpy (shared->functions[i].name, names[i]);
}

static int
find_code (struct dl_phdr_info *info, size_t size, void *opaque)
{
  struct range range = { info->dlpi_addr, 0 };

  (void) size, (void) opaque;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      range.end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
        info->dlpi_phdr[i].p_memsz;
  if (strstr (info->dlpi_name, "/ld-"))
    loader = range;
  else if (!strstr (info->dlpi_name, "libcrypto") &&
           nr_own < sizeof own / sizeof own[0])
    own[nr_own++] = range;
  return 0;
}

static bool
is_in (const struct range *range, const void *p)
{
  return (uintptr_t) p >= range->start && (uintptr_t) p < range->end;
}

static _Thread_local bool recording;

static void
print_backtrace (char *to, size_t size)
{
  char *end = to + size;
  void *frames[FRAMES];
  int n = backtrace (frames, FRAMES);
  Dl_info info;

  for (int i = 0; i < n && end - to > 300; i++)
    if (dladdr (frames[i], &info) && info.dli_fname)
      to += snprintf (to, 300, "%.250s+%#tx\n", info.dli_fname,
                      (char *) frames[i] - (char *) info.dli_fbase - 1);
}

/* A child must not take the locks of the dynamic loader, which another thread
 * may have had.
 */
static void
record (char *to, size_t size)
{
  if (to[0])
    return;
  if (getpid () != program) {
    strcpy (to, "child\n");
    return;
  }
  recording = true;
  print_backtrace (to, size);
  recording = false;
}

static void
crashed (int number)
{
  record (shared->crash, sizeof shared->crash);
  signal (number, SIG_DFL);
  raise (number);
}

static void
record_crashes (void)
{
  static const int signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV };

  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    signal (signals[i], crashed);
}

static int
counted_main (int argc, char **argv, char **environment)
{
  const char *fault = getenv ("CALL_FAULT"), *file = getenv ("CALL_FAULT_FILE");
  void *frames[FRAMES];

  if (!file)
    die ("CALL_FAULT_FILE is not set");
  map_shared (file);
  if (fault)
    parse_plan (fault);
  module_wanted (getenv ("CALL_FAULT_MODULE"));
  unsetenv ("CALL_FAULT");
  unsetenv ("CALL_FAULT_FILE");
  unsetenv ("LD_PRELOAD");
  dl_iterate_phdr (find_code, NULL);
  backtrace (frames, FRAMES);   /* loads what it needs */
  record_crashes ();
  program = getpid ();
  counting = true;
  return program_main (argc, argv, environment);
}

static void __attribute__ ((destructor))
end (void)
{
  counting = false;
  if (shared && getpid () == program)
    shared->leaks = module_leaks (shared->leak, sizeof shared->leak);
}

/* The C library calls the main function that it gets. */
int
__libc_start_main (int (*main) (int, char **, char **), int argc, char **argv,
                   void (*init) (void), void (*fini) (void),
                   void (*rtld_fini) (void), void *stack_end)
{
  int (*real) (int (*) (int, char **, char **), int, char **, void (*) (void),
               void (*) (void), void (*) (void), void *);

  real = (__typeof__ (real)) call_real ("__libc_start_main");
  program_main = main;
  return real (counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- Calls ---- */

static bool
fails (enum call_function function)
{
  unsigned n = atomic_fetch_add (&shared->functions[function].count, 1) + 1;

  if ((int) function != plan.function || n < plan.at ||
      (n > plan.at && !plan.on))
    return false;
  record (shared->fault, sizeof shared->fault);
  errno = plan.error;
  return true;
}

bool
call_fails (enum call_function function, const void *caller)
{
  return counting && !recording && !is_in (&loader, caller) &&
    module_of (caller) <= CALLER_LIBRARY && fails (function);
}

bool
call_of_memory_fails (enum call_function function, const void *caller)
{
  bool is_own = false;

  if (!counting || recording || is_in (&loader, caller))
    return false;
  for (size_t i = 0; i < nr_own; i++)
    is_own |= is_in (&own[i], caller);
  switch (module_of (caller)) {
  case CALLER_PROGRAM: break;
  case CALLER_MODULE: is_own = true; break;
  case CALLER_LIBRARY:
  case CALLER_NBDKIT: is_own = false; break;
  case CALLER_OTHER: return false;
  }
  return fails (is_own ? function : CALL_library_malloc);
}

/* blksum looks up the functions of libnbd, and nbdkit those of modules. */
void *
dlsym (void *handle, const char *name)
{
  void *real = real_dlsym (handle, name);

  module_found (handle, name, real);
  return call_nbd (name, real);
}

int
dlclose (void *handle)
{
  DECLARE_REAL (dlclose);
  module_closed (handle);
  return REAL (dlclose) (handle);
}

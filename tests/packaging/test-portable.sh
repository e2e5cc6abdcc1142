#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The replacements for functions of some systems compile without a warning on a
# system that has these functions.  portability.sh builds and tests all of
# the project with them.

. "$(dirname "$0")/../functions.sh"
compiler=${CC:-cc}
requires_program ${compiler%% *}
src=$abs_top_srcdir

# Functions that configure detects; portable.h hides the others.
checked='EVENTFD|POSIX_FADVISE|PREADV2|PTHREAD_CONDATTR_SETCLOCK|RENAMEAT2'
checked="HAVE_($checked|SYS_EVENTFD_H|SYS_PRCTL_H)"
grep -v -E "define $checked" "$abs_top_builddir/config.h" > "$dir/config.h"

flags="$CPPFLAGS $OPENSSL_CFLAGS $JSON_C_CFLAGS $LIBNBD_CFLAGS"
compiled=0
for file in $(grep -l -E "$checked|SEEK_HOLE|F_OFD_|clock\.h" "$src"/lib/*/*.c \
                   "$src"/tools/*/*.c); do
  case ${file##*/} in test-*) continue ;; esac
  compiled=$((compiled + 1))
  echo "+ $file"
  $compiler -std=gnu11 -Wall -Wextra -Wno-sign-compare -Werror -fsyntax-only \
            -I"$dir" -include "$src/tests/packaging/portable.h" -I"$src/include" \
            -I"$src/lib" -I"$src/tools" $flags "$file" > "$dir/stdout" 2>&1 ||
    fail "does not compile: $file"
done
[ $compiled -gt 5 ] || fail "$compiled files: this tests nothing"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# In place of libtool, links a test program: its libraries are all convenience
# libraries, of which it takes the archive and the names of others from the .la.
# libtool itself takes longer for this than most of these tests run.
#
#     link.sh LIBTOOL-OPTION... COMPILER ARGUMENT...

others=
for argument; do
  shift
  case $argument in
    --silent | --tag=* | --mode=*) continue ;;
    *.la)
      . "$(dirname "$argument")/$(basename "$argument")"
      argument=$(dirname "$argument")/.libs/$old_library
      others="$others$inherited_linker_flags$dependency_libs"
      ;;
  esac
  set -- "$@" "$argument"
done
exec "$@" $others

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The fuzz targets that have a corpus, over it.

. "$(dirname "$0")/functions.sh"

for corpus in "$abs_top_srcdir"/tests/fuzz/*/; do
  corpus=${corpus%/}
  target=fuzz-${corpus##*/}
  # "make check" has built it.
  program=$(real_program "$abs_top_builddir/tools/$target")
  [ -x "$program" ] || skip "$target was not built"
  run 0 $wrapper "$program" "$corpus"/*
  [ "$(cat "$dir/stdout")" = "$(ls "$corpus" | wc -l) inputs" ] ||
    fail "$target did not read all of $corpus"
done

#!/bin/bash
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Static analysis of lib, tools and filter, for "make lint": cppcheck, clang-tidy
# (the checks of .clang-tidy) and gcc -fanalyzer.  Fails if there is a report that
# tests/lint-exceptions does not explain.  Tests are not analyzed.
#
#     lint.sh SRCDIR BUILDDIR

set -u -o pipefail

cd "$1" || exit 2
exceptions=$PWD/tests/lint-exceptions
build=$2
mapfile -t files < <(
  find lib tools filter -name '*.c' ! -name 'test-*' ! -name 'fuzz-*' | sort)
flags=(-DHAVE_CONFIG_H -I"$build" -Iinclude -Ilib -Ifilter -Itools)
all=$(mktemp) && trap 'rm -f "$all"' EXIT

for tool in cppcheck clang-tidy gcc; do
  command -v $tool > /dev/null || { echo "lint: $tool is not installed"; exit 2; }
done

# Prints "FILE:LINE: CHECK: TEXT" for each report.
cppcheck_all ()
{
  cppcheck --quiet --library=posix --enable=warning,portability,performance \
    --template='{file}:{line}: {id}: {message}' \
    "${flags[@]:2}" "${files[@]}" 2>&1
}

tidy_all ()
{
  local file

  for file in "${files[@]}"; do
    clang-tidy --quiet "$file" -- "${flags[@]}" 2> /dev/null
  done | sed -nE "s,^$PWD/,,; s/^([^ ]+:[0-9]+):[0-9]+: (warning|error): (.*) \[(.*)\]$/\1: \4: \3/p"
}

analyzer_all ()
{
  local file

  for file in "${files[@]}"; do
    case $file in
      lib/lanes/sha256-*) continue ;;      # each needs flags of its own
    esac
    gcc -fanalyzer -O2 "${flags[@]}" -fdiagnostics-plain-output \
      -c "$file" -o /dev/null 2>&1
  done | sed -nE 's/^([^ ]+:[0-9]+):[0-9]+: (warning|error): (.*) \[-W(.*)\]$/\1: \4: \3/p'
}

{ cppcheck_all; tidy_all; analyzer_all; } | sort -u > "$all"

# An exception is "FILE CHECK REASON".
awk '
  NR == FNR { if ($0 !~ /^#/ && NF >= 3) known[$1 " " $2] = 1; next }
  {
    file = $1; sub (/:[0-9]+:$/, "", file)
    check = $2; sub (/:$/, "", check)
    if ((file " " check) in known)
      used[file " " check] = 1
    else {
      print
      bad++
    }
  }
  END {
    for (k in known)
      if (!(k in used))
        print "not reported any longer: " k
    printf "lint: %d reports without an explanation\n", bad
    exit bad > 0
  }' "$exceptions" "$all"

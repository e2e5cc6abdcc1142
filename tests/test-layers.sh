#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file includes only what stands below it.  The first table says for each
# concept of lib/ what it may include beside its own header, blkhash.h and
# what is common to all; it is the drawing of lib/README.md in words.

. "$(dirname "$0")/functions.sh"
cd "$abs_top_srcdir"

common="cleanup zero"
below="
leaf: digest sha256-lanes
outer: digest
opts: digest
order: leaf outer pool
leaves: digest leaf leaf-tree opts outer pieces pieces-budget pieces-share sink
pieces: pieces-budget pieces-share
hash: completion digest leaf opts order outer pool
digest: digest-family
sha256-lanes: cpu sha256-kernel
sha256-arm64: cpu sha256-kernel
sha256-avx2: cpu sha256-kernel sha256-vector
sha256-avx512: cpu sha256-kernel sha256-vector
sha256-avx512sha: cpu sha256-kernel
sha256-shani: cpu sha256-kernel
digest-blake2b: digest-family
digest-blake3: digest-family
digest-null: digest-family
digest-openssl: digest-family
digest-xxhash: digest-family
"
# What tools/ and other users may include of lib/.
for_tools="cleanup zero sum-line"

# Of ours that FILE includes, without ".h".
includes () {
  sed -n 's/^ *# *include *"\(.*\)\.h".*/\1/p' "$1"
}

# is_one_of WORD LIST
is_one_of () {
  case " $2 " in
    *" $1 "*) return 0 ;;
  esac
  return 1
}

wrong=0
complain () {
  echo "$*"
  wrong=1
}

for file in lib/*.[ch]; do
  name=$(basename "$file" | sed 's/\.[ch]$//')
  case $name in
    test-*) continue ;;
    leaves-*) concept=leaves ;; # one concept in several files
    pieces-share) concept=pieces ;;
    *) concept=$name ;;
  esac
  # "digest-openssl.c -blake3.c" draws both; digest-family.h is a part of
  # digest.c, as leaves-*.c are of leaves.c.
  drawn=$(echo "$concept" | sed 's/^digest-family/digest/; s/^digest-/-/')
  grep -q -e "\(^\|[^a-z0-9-]\|digest\)$drawn\.[ch]" lib/README.md ||
    complain "lib/README.md does not draw $name"
  allowed="$name $concept blkhash $common"
  allowed="$allowed $(echo "$below" | sed -n "s/^$concept: //p")"
  for include in $(includes "$file"); do
    is_one_of "$include" "$allowed" || complain "$file includes $include.h"
  done
done

# No arrow points up: following them from any concept never leads back.
for name in $(echo "$below" | sed -n 's/:.*//p'); do
  reached=$(echo "$below" | sed -n "s/^$name: //p")
  for step in 1 2 3 4 5 6 7 8; do
    next=
    for concept in $reached; do
      [ "$concept" = "$name" ] && complain "$name includes itself in the end"
      next="$next $(echo "$below" | sed -n "s/^$concept: //p")"
    done
    reached=$next
  done
done

# tools/ and examples/ use the public API.
for file in tools/*.c tools/*/*.[ch] examples/*.c; do
  for include in $(includes "$file"); do
    case $include in
      ../lib/*) is_one_of "${include#../lib/}" "$for_tools" &&
                  [ "${file%%/*}" = tools ] ||
                  complain "$file includes $include.h" ;;
      ../*) complain "$file includes $include.h" ;;
      blkhash) ;;
      *) [ -f "tools/$include.h" ] || complain "$file includes $include.h" ;;
    esac
  done
done

# Nothing of what the public header includes is ours, or of third parties.
for include in $(sed -n 's/^ *# *include *[<"]\(.*\)[>"].*/\1/p' \
                     include/blkhash.h); do
  is_one_of "$include" "stddef.h stdint.h" ||
    complain "blkhash.h includes $include"
done
exit $wrong

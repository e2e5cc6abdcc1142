#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file includes only headers of its own folder and of those below it, as the READMEs
# draw them; unit tests may include all.  Other rules for files are checked here, too.

. "$(dirname "$0")/../functions.sh"
requires_program tsort
cd "$abs_top_srcdir"
export LC_ALL=C

# What the files of each folder may include besides itself, common/, util/ and
# lib/common/.  "." are the files in no folder.
cat > "$dir/folders" << EOF
lib/construction: digest lanes
lib/hash: construction digest
lib/leaves: construction digest
lib/manifest: construction digest leaves
tools: command cli
tools/command: repair job cli
tools/repair: job source read io lib/digest lib/manifest
tools/job: source read io lib/digest lib/manifest
tools/cli: job format
tools/source: nbd read image format qemu io
tools/nbd: read
tools/read: io lib/digest
tools/image: format qemu io
tools/format: qemu io
filter/blkhash: lib/leaves lib/manifest
filter/verify: lib/construction lib/digest lib/manifest
EOF
callers="blkhash-filter finish pass verify-check verify-filter" # of the plugin, in filter/
# Base names that stand twice; there must be no new ones.
twice=""
several="" # parts whose Makefile.am may have a file in several lists
nameless="" # unit tests without the name of their unit

status=0
complain () {
  echo "^ $*"
  status=1
}

find lib tools filter -name '*.[ch]' ! -path '*/.*' | sort > "$dir/all"
grep -v /test- "$dir/all" > "$dir/files"

# Prints the includes that are wrong, and "> FROM TO" for all of our headers; NAME.c,
# NAME.h and NAME-private.h are one.
awk '
  NR == FNR { for (i = 2; i <= NF; i++) below[$1 $i]; next }
  /^ *# *include *"/ && !/"blkhash(-leaves|-manifest)?\.h"/ {
    split($0, quoted, "\"")
    sub(/^\.\.\//, "", quoted[2])
    header = to = quoted[2]
    if (!sub(/\/[^\/]*$/, "", to)) to = "."
    if (split(FILENAME, part, "/") == 2) part[2] = "."
    from = part[1] (part[2] == "." ? "" : "/" part[2]) ":"
    if (to != part[2] && (header ~ /-private\.h$/ ||
                          to !~ /^((lib\/)?common|util)$/ && !((from to) in below)))
      print FILENAME " includes " header
    arrow = FILENAME " " (to ~ /^lib\// ? "" : part[1] "/") header
    gsub(/(-private)?\.[ch]/, "", arrow)
    print "> " arrow
  }' "$dir/folders" $(cat "$dir/files") > "$dir/includes"
! grep -v '^>' "$dir/includes" || complain "the folders in $0 do not allow that"
sed -n 's/^> //p' "$dir/includes" | awk '$1 != $2' > "$dir/circle"
tsort "$dir/circle" 2>&1 > "$dir/stdout" || complain "these files include each other"
sed 's,/[^/ ]*\( \|$\),\1,g' "$dir/circle" | awk '$1 != $2' | sort -u > "$dir/circles"
tsort "$dir/circles" 2>&1 > "$dir/stdout" || complain "these folders do"

for folder in $(sed -n 's|^\([a-z]*/[a-z]*\)/.*|\1|p' "$dir/files" | sort -u); do
  grep -q "^    [^A-Za-z]*${folder#*/}/" "${folder%/*}/README.md" ||
    complain "${folder%/*}/README.md does not draw ${folder#*/}/"
done

! grep '^ *# *include' include/*.h | grep -v -e '<std\(def\|int\)\.h>' \
    -e '/blkhash.h:.*<blkhash-leaves.h>' -e '/blkhash-manifest.h:.*<blkhash.h>' ||
  complain "a public header includes only the one below it"
! grep '^ *# *include *"' examples/*.c || complain "examples use only the public API"

! grep -e '\(^\|[^a-z]\)\(v\?printf\|puts\|putchar\|perror\) (' -e '[(,] *stderr[,)]' \
    $(grep -e ^lib/ -e ^tools/.*/ "$dir/files" | grep -v -e /command/ -e /cli/) ||
  complain "only command/, cli/ and the two mains print"

found=$(grep -l '\(^\|[^a-z]\)next->[a-z_]* (' $(grep ^filter/ "$dir/files") |
        sed 's|.*/||; s|\.c$||' | sort)
[ "$(echo $found)" = "$callers" ] || complain "these call the plugin:" $found

# CONTRIBUTING.md has the licenses.
! while read -r file; do
    or='\|LGPL-2.1-or-later'
    case $file in filter/*) or= ;; esac
    head -n 3 "$file" | grep -q "SPDX-License-Identifier[:].* \(BSD-3-Clause$or\)$" ||
      echo "$file"
  done < "$dir/all" | grep . || complain "another license, or none"

found=$(sed 's|\.[ch]$||' "$dir/all" | sort -u | sed 's|.*/||' | sort | uniq -d)
[ "$(echo $found)" = "$twice" ] || complain "these base names stand twice:" $found

for part in lib tools filter; do
  tr -s '[:space:]' '\n' < $part/Makefile.am | sed -n "s|^[^.].*\.[ch]$|$part/&|p"
done | sort > "$dir/lists"
! { uniq -d "$dir/lists" | grep -v -e /test- -e "^\($several\)/"
    comm -23 "$dir/all" "$dir/lists"; } | grep . ||
  complain "not in one list of a Makefile.am"

# A test of UNIT.c or UNIT.h is test-UNIT.c or test-UNIT-ASPECT.c, in the same folder.
found=$(for part in lib tools filter; do
  sed -n "s|^test_[a-z0-9_]*_SOURCES = \([^ ]*\)\.c.*|$part/\1|p" $part/Makefile.am
done | while read -r test; do
  unit=${test%/*}/${test#*/test-}
  until [ -e "$unit.c" ] || [ -e "$unit.h" ]; do
    [ "$unit" != "${unit%-*}" ] || { echo "$test"; break; }
    unit=${unit%-*}
  done
done)
[ "$(echo $found)" = "$nameless" ] || complain "no unit for these unit tests:" $found
exit $status

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file includes only headers of lower layers.  For each component a table
# lists what each of its files may include, besides its own header; the drawing
# in the component's README.md shows the same.

. "$(dirname "$0")/functions.sh"
requires_program tsort
cd "$abs_top_srcdir"

wrong=0
complain () {
  echo "$*"
  wrong=1
}

# includes FILE: prints which of our headers it includes, without ".h".
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

# is_drawn DIR NAME: DIR/README.md mentions the file.
is_drawn () {
  grep -q -e "\(^\|[^a-z0-9-]\)$2\.[ch]" "$1/README.md"
}

# check_circles: the arrows in $dir/arrows have no cycle.  tsort reports a cycle
# on stderr with its members, except a cycle of one.
check_circles () {
  awk '$1 == $2 { print $1 }' "$dir/arrows" > "$dir/circle"
  tsort "$dir/arrows" > "$dir/stdout" 2>> "$dir/circle" || :
  [ ! -s "$dir/circle" ] ||
    complain "$component: includes itself indirectly: $(cat "$dir/circle")"
}

# check_layers DIR COMMON TABLE: checks all files in DIR.  Each may include its
# own header, those in COMMON, and those in the lines "NAME: HEADER ..." of
# TABLE, where names are without ".h", as they are included.
check_layers () {
  component=$1 common=$2 table=$3

  for file in $(find "$component" -name '*.[ch]' ! -name 'test-*'); do
    name=${file#"$component"/}
    name=${name%.[ch]}
    is_drawn "$component" "$name" ||
      complain "$component/README.md does not draw $name"
    allowed="$name $common $(echo "$table" | sed -n "s|^$name: ||p")"
    for include in $(includes "$file"); do
      is_one_of "$include" "$allowed" || complain "$file includes $include.h"
    done
  done

  echo "$table" | while IFS=: read -r name below; do
    for to in $below; do
      echo "$name $to"
    done
  done > "$dir/arrows"
  check_circles
}

# check_folders DIR TABLE: a file below DIR includes only headers of its own
# folder and of those in the lines "FOLDER: FOLDER ..." of TABLE, as
# "FOLDER/NAME.h"; and there is no cycle of files.  NAME-private.h and
# NAME-family.h are parts of NAME, as pieces-share is of pieces.
check_folders () {
  component=$1 table=$2

  : > "$dir/includes"
  for file in $(find "$component" -name '*.[ch]' ! -name 'test-*'); do
    name=${file#"$component"/}
    name=${name%.[ch]}
    is_drawn "$component" "${name##*/}" ||
      complain "$component/README.md does not draw $name"
    folder=${name%/*}
    [ "$folder" != "$name" ] || folder=.
    allowed="$folder $(echo "$table" | sed -n "s|^$folder: ||p")"
    for include in $(includes "$file"); do
      case $include in
        ../* | blkhash | blkhash-manifest | "$name") continue ;;
      esac
      is_one_of "${include%/*}" "$allowed" ||
        complain "$file includes $include.h"
      echo "$name $include" >> "$dir/includes"
    done
  done
  sed 's/-private//g; s/-family//g; s/-share//g' "$dir/includes" | awk '$1 != $2' \
    > "$dir/arrows"
  check_circles
}

# ---- lib/ ----

check_folders lib "
manifest: construction common digest leaves
leaves: construction common digest
hash: construction common digest lanes
construction: common digest lanes
lanes: common
"

# ---- filter/ ----
# Of lib/ only the headers in the table.
check_layers filter "blkhash ../lib/common/numbers" "
blkhash: baseline config-files conn ending export files final finish modify observe params pass-read
final: export manifest params pass report ../lib/common/cleanup
finish: baseline conn export flush manifest params pass pass-read ../lib/common/cleanup ../lib/common/strata ../lib/leaves/leaves
flush: conn params pass ../lib/common/cleanup
pass-read: conn export observe params pass ../lib/common/cleanup
pass: conn export observe params ../lib/common/cleanup ../lib/common/strata
modify: conn export inflight params ../lib/common/cleanup
observe: blkhash-leaves conn export inflight params ../lib/common/cleanup ../lib/leaves/leaves
conn: export ../lib/common/cleanup
export: baseline disk params report table ../lib/common/cleanup ../lib/leaves/leaves
baseline: blkhash-leaves manifest params report table
table: blkhash-manifest params ../lib/leaves/leaves
files: manifest params result-file result-lines
ending: ../lib/common/cleanup
disk: block-set claims inflight visibility
inflight: block-set
claims: block-set params part-set ../lib/common/zero
visibility: block-set params
block-set: ../lib/leaves/leaf-tree
params: config-files ../lib/common/hash-spec ../lib/common/strata
report: manifest params result-file result-lines ../lib/common/cleanup ../lib/common/sum-line
manifest: blkhash-manifest config-files output-file params ../lib/common/cleanup
result-file: output-file result-lines
result-lines: ../lib/common/sum-line
output-file: config-files lock-file ../lib/common/replace-file
lock-file: config-files
verify/verify: config-files ending verify/check verify/disk verify/export verify/params verify/publish verify/repair verify/source
verify/publish: output-file result-file result-lines verify/disk verify/export verify/mapfile verify/params verify/result verify/status ../lib/common/expected-sum ../lib/common/cleanup ../lib/common/deadline ../lib/manifest/manifest-index
verify/result: result-file verify/export verify/summary ../lib/common/cleanup ../lib/common/sum-line
verify/status: output-file verify/disk verify/export verify/signature verify/summary ../lib/common/cleanup ../lib/common/json-string ../lib/common/memstream
verify/mapfile: output-file verify/disk verify/export verify/signature ../lib/common/cleanup ../lib/common/mapfile ../lib/common/memstream
verify/summary: verify/disk verify/export verify/params
verify/sum-list: ../lib/common/expected-sum ../lib/common/sum-line ../lib/common/sums-line
verify/manifest-dir: ../lib/common/json-string ../lib/common/memstream
verify/export: verify/disk verify/manifest-dir verify/params verify/sum-list ../lib/common/cleanup ../lib/common/deadline ../lib/common/sum-line ../lib/manifest/manifest-index
verify/params: config-files
verify/check: verify/batch verify/compare verify/disk verify/export verify/params
verify/batch: verify/compare verify/disk verify/finding verify/params verify/repair verify/source verify/tally
verify/finding: verify/disk verify/tally
verify/repair: config-files verify/compare verify/disk verify/params
verify/compare: verify/disk ../lib/common/zero ../lib/construction/leaf
verify/disk: blkhash-manifest verify/block-cache verify/tally ../lib/common/cleanup ../lib/common/expected-sum ../lib/construction/leaf ../lib/digest/digest ../lib/manifest/manifest-index
verify/block-cache: ../lib/common/cleanup ../lib/common/lru
verify/tally: ../lib/common/cleanup
"

# These call the plugin, as filter/README.md says.
callers=$(grep -l '\(^\|[^a-z]\)next->[a-z_]* (' filter/*.c |
          grep -v -e /test- | sed 's|filter/||' | LC_ALL=C sort)
[ "$(echo $callers)" = "blkhash.c flush.c pass-read.c pass.c" ] ||
  complain "these files of filter/ call the plugin:" $callers

# ---- tools/ ----

check_folders tools "
.: command cli
command: repair job cli util
repair: job leaves source read io util
job: leaves source read sums changes io util
leaves: source read util
cli: format util
sums: util
changes: util
source: nbd read image format qemu io util
nbd: read util
read: io util
image: format qemu io util
format: qemu io util
qemu: util
io: util
"
# Folders have no cycle either, whatever the table allows.
sed 's|/[^ ]*||g' "$dir/arrows" | awk '$1 != $2' > "$dir/folders"
mv "$dir/folders" "$dir/arrows"
check_circles

# Only the programs, command/ and cli/ print.
! grep -e '\(^\|[^a-z]\)\(v\?printf\|puts\|putchar\|perror\) (' \
       -e '[(,] *stderr[,)]' \
    $(find tools/*/ -name '*.[ch]' ! -path 'tools/cli/*' \
           ! -path 'tools/command/*' ! -name 'test-*') ||
  complain "it prints"

# ---- Users of the library ----

# Headers of lib/ that tools/ may include.
for_tools="common/cleanup common/deadline common/json-string common/libnbd common/memstream common/numbers common/zero
common/expected-sum common/hash-spec common/mapfile common/replace-file common/strata common/sum-line common/sums-line common/test-time64
common/utf8 digest/digest
manifest/leaf-diff manifest/leaf-runs manifest/manifest-diff manifest/manifest-index
manifest/manifest-plan"

# tools/ and examples/ use the public API.
for file in tools/*.c tools/*/*.[ch] examples/*.c; do
  for include in $(includes "$file"); do
    case $include in
      ../lib/*) is_one_of "${include#../lib/}" "$(echo $for_tools)" &&
                  [ "${file%%/*}" = tools ] ||
                  complain "$file includes $include.h" ;;
      ../*) complain "$file includes $include.h" ;;
      blkhash | blkhash-manifest) ;;
      *) [ "${file%%/*}" = tools ] && [ -f "tools/$include.h" ] ||
           complain "$file includes $include.h" ;;
    esac
  done
done

# Public headers include no headers of third parties, and each includes only the
# one before it: leaf tables, hashing, manifests.
for include in $(sed -n 's/^ *# *include *[<"]\(.*\)[>"].*/\1/p' \
                     include/*.h | sort -u); do
  is_one_of "$include" "stddef.h stdint.h blkhash-leaves.h blkhash.h" ||
    complain "a public header includes $include"
done
! grep 'include.*blkhash' include/blkhash-leaves.h ||
  complain "blkhash-leaves.h includes one of our headers"
! grep 'include.*blkhash\(-manifest\)*\.h' include/blkhash.h ||
  complain "blkhash.h includes what includes it"
exit $wrong

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file includes only what stands below it.  A table says for each concept of a
# component what it may include beside its own header; it is the drawing of that
# component's README.md in words.

. "$(dirname "$0")/functions.sh"
requires_program tsort
cd "$abs_top_srcdir"

wrong=0
complain () {
  echo "$*"
  wrong=1
}

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

# concept_of NAME: PARTS says which concepts are in several files, as
# "PATTERN=CONCEPT ...".
concept_of () {
  for part in $parts; do
    case $1 in
      ${part%%=*}) echo "${part#*=}"; return ;;
    esac
  done
  echo "$1"
}

# is_drawn DIR NAME: in DIR's README.md.
is_drawn () {
  grep -q -e "\(^\|[^a-z0-9-]\)$2\.[ch]" "$1/README.md"
}

# No arrow points up: following those in $dir/arrows never leads back.  tsort
# says of a circle on stderr who is in it, except of one of one.
check_circles () {
  awk '$1 == $2 { print $1 }' "$dir/arrows" > "$dir/circle"
  tsort "$dir/arrows" > "$dir/stdout" 2>> "$dir/circle" || :
  [ ! -s "$dir/circle" ] ||
    complain "$component: includes itself in the end: $(cat "$dir/circle")"
}

# check_layers DIR COMMON PARTS TABLE: of all files below DIR.  Each may include
# its own header, COMMON, and what TABLE says in lines "CONCEPT: HEADER ...",
# names without ".h" and as they are included.
check_layers () {
  component=$1 common=$2 parts=$3 table=$4

  for file in $(find "$component" -name '*.[ch]'); do
    name=${file#"$component"/}
    name=${name%.[ch]}
    case ${name##*/} in
      test-*) continue ;;
    esac
    concept=$(concept_of "$name")
    drawing_of "$concept" || complain "$component/README.md does not draw $name"
    allowed="$name $concept $common"
    allowed="$allowed $(echo "$table" | sed -n "s|^$concept: ||p")"
    for include in $(includes "$file"); do
      is_one_of "$include" "$allowed" || complain "$file includes $include.h"
    done
  done

  echo "$table" | while IFS=: read -r concept below; do
    for name in $below; do
      to=$(concept_of "$name")
      [ "$to" = "$concept" ] && [ "$name" != "$to" ] || echo "$concept $to"
    done
  done > "$dir/arrows"
  check_circles
}

# ---- lib/ ----

# "digest-openssl.c -blake3.c" draws both; digest-family.h is a part of
# digest.c, as leaves-*.c are of leaves.c.
drawing_of () {
  case $1 in
    digest-family) is_drawn lib digest ;;
    digest-*) is_drawn lib "$1" ||
                grep -q -e "[^a-z0-9]-${1#digest-}\.[ch]" lib/README.md ;;
    *) is_drawn lib "$1" ;;
  esac
}

check_layers lib "blkhash cleanup deadline zero" "leaf-tree-*=leaf-tree
leaves-*=leaves order-*=order pieces-share=pieces" "
leaf: leaf-hash
leaf-hash: digest lanes
outer: construction digest
opts: construction digest
manifest-table: blkhash-manifest leaves manifest-reader opts
manifest-diff: blkhash-manifest leaf-diff manifest-format manifest-reader opts
leaf-diff: blkhash-manifest
manifest-writer: blkhash-manifest crc32c digest manifest-format manifest-output opts
manifest-writer-records: crc32c manifest-writer
manifest-records: blkhash-manifest crc32c manifest-format manifest-input manifest-reader manifest-sum manifest-zeros
manifest-reader: blkhash-manifest crc32c manifest-format manifest-input manifest-sum manifest-zeros
manifest-sum: digest manifest-zeros opts outer
manifest-zeros: digest leaf opts
manifest-format: sum-tag
leaf-tree: leaf-tree-private
order: leaf order-private outer pool
leaves: construction digest leaf leaf-tree leaves-private opts outer pieces pieces-budget pieces-share sink
pieces: pieces-budget pieces-share
kernels: cpu digest lane-hashes lanes
hash: completion digest leaf opts order outer pool
digest: digest-family
lanes: cpu lane-hashes lane-kernel lanes-measure lanes-plan
lanes-measure: lane-kernel lanes-plan
lanes-plan: lane-kernel
crc32c: cpu
lane-hashes: blake2b lane-kernel sha1 sha256 sha512
blake2b: lane-kernel
blake2b-avx2: blake2b blake2b-vector cpu vector-avx2
blake2b-avx512: blake2b blake2b-vector cpu vector-avx512
blake2b-avx512vl: blake2b blake2b-vector cpu vector-avx512vl
sha1: lane-kernel
sha1-avx2: cpu sha1 sha1-vector vector-avx2
sha1-avx512: cpu sha1 sha1-vector vector-avx512
sha1-avx512vl: cpu sha1 sha1-vector vector-avx512vl
sha256: lane-kernel
sha256-arm64: cpu sha256
sha256-avx2: cpu sha256 sha256-vector
sha256-avx512: cpu sha256 sha256-vector
sha256-avx512sha: cpu sha256
sha256-shani: cpu sha256
sha512: lane-kernel
sha512-avx2: cpu sha512 sha512-vector vector-avx2
sha512-avx512: cpu sha512 sha512-vector vector-avx512
sha512-avx512vl: cpu sha512 sha512-vector vector-avx512vl
vector-avx2: vector-256
vector-avx512vl: vector-256
sum-line: sum-tag
sum-tag: sum-kind
digest-blake2b: digest-family
digest-blake3: digest-family
digest-null: digest-family
digest-openssl: digest-family
digest-xxhash: digest-family
"

# ---- filter/ ----

drawing_of () {
  is_drawn filter "$1"
}

# Of lib/ what is in the table, and nothing else.
check_layers filter "blkhash" "" "
blkhash: config-files conn ending export finish params report watch
finish: conn export manifest params pass ../lib/cleanup ../lib/leaves
pass: conn export params watch ../lib/cleanup
watch: conn export inflight params ../lib/cleanup ../lib/leaves
conn: export ../lib/cleanup
export: disk params report ../lib/cleanup ../lib/leaves
ending: ../lib/cleanup
disk: block-set inflight visibility
visibility: block-set params
block-set: ../lib/leaf-tree
params: config-files ../lib/sum-kind
report: manifest params result-file ../lib/cleanup ../lib/sum-line
manifest: blkhash-manifest config-files output-file params ../lib/cleanup
result-file: output-file params result-lines
result-lines: params ../lib/sum-line ../lib/sum-tag
output-file: config-files lock-file
lock-file: config-files
"

# ---- tools/ ----

# check_folders DIR TABLE: a file below DIR includes only what is in its own
# folder and in those that TABLE says in lines "FOLDER: FOLDER ...", as
# "FOLDER/NAME.h"; and files do not include each other in a circle.
check_folders () {
  component=$1 table=$2

  : > "$dir/arrows"
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
      echo "$name $include" >> "$dir/arrows"
    done
  done
  check_circles
}

check_folders tools "
.: job cli util
job: cli source read sums changes io util
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
# And folders do not, whatever the table allows.
sed 's|/[^ ]*||g' "$dir/arrows" | awk '$1 != $2' > "$dir/folders"
mv "$dir/folders" "$dir/arrows"
check_circles

# ---- Those who use the library ----

# What tools/ and other users may include of lib/.
for_tools="cleanup deadline leaf-diff zero sum-kind sum-line sum-tag test-time64"

# tools/ and examples/ use the public API.
for file in tools/*.c tools/*/*.[ch] examples/*.c; do
  for include in $(includes "$file"); do
    case $include in
      ../lib/*) is_one_of "${include#../lib/}" "$for_tools" &&
                  [ "${file%%/*}" = tools ] ||
                  complain "$file includes $include.h" ;;
      ../*) complain "$file includes $include.h" ;;
      blkhash | blkhash-manifest) ;;
      *) [ "${file%%/*}" = tools ] && [ -f "tools/$include.h" ] ||
           complain "$file includes $include.h" ;;
    esac
  done
done

# Nothing of what a public header includes is of third parties; that of manifests
# includes that of the rest.
for include in $(sed -n 's/^ *# *include *[<"]\(.*\)[>"].*/\1/p' \
                     include/*.h | sort -u); do
  is_one_of "$include" "stddef.h stdint.h blkhash.h" ||
    complain "a public header includes $include"
done
! grep 'include.*blkhash' include/blkhash.h ||
  complain "blkhash.h includes a header of ours"
exit $wrong

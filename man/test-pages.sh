#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The manual pages are well formed, and agree with the code: the prototypes
# with blkhash.h, the options with --help of the commands, the parameters with that of
# the filters, the reasons for no sum and the errors with their messages.  Runs in
# the build directory, srcdir is the source.

set -e

srcdir=${srcdir:-.}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

result=0
fail () {
  echo "FAILED: $*"
  result=1
}

# A part that cannot be tested makes the whole a SKIP, unless something failed.
skip () {
  echo "SKIP: $*"
  [ $result = 1 ] || result=77
}

if command -v podchecker > /dev/null; then
  for pod in "$srcdir"/*.pod; do
    podchecker -warnings -warnings "$pod" > "$dir/log" 2>&1 &&
      ! grep -q WARNING "$dir/log" || { cat "$dir/log"; fail "$pod"; }
  done
else
  skip "podchecker is missing: the source of the pages is not checked"
fi

# limit PAGE: how many lines the page has at most, on a terminal of 80 columns.
limit () {
  case $1 in
    blksum.1) echo 450 ;;
    blkhash.1) echo 110 ;;
    blkhash-compare.1) echo 200 ;;
    blkhash-update.1) echo 320 ;;
    blkhash-parts.1) echo 250 ;;
    blkhash-repair.1) echo 280 ;;
    blkhash-export.1) echo 200 ;;
    blkhash-images.7) echo 430 ;;
    blkhash-json.5) echo 130 ;;
    blkhash-format.7) echo 330 ;;
    blkhash-manifest.5) echo 200 ;;
    nbdkit-blkhash-filter.1) echo 620 ;;
    nbdkit-blkhash-verify-filter.1) echo 450 ;;
    blkhash.3) echo 470 ;;
    blkhash-leaves.3) echo 640 ;;
    blkhash-v2v.1) echo 145 ;;
  esac
}

if command -v man > /dev/null && command -v groff > /dev/null; then
  for page in *.[1-8]; do
    case $page in
      blkhash-merge.1) continue ;;      # an alias
    esac
    MANWIDTH=80 man --warnings --encoding=UTF-8 --local-file "$page" \
      > "$dir/text" 2> "$dir/log" || fail "man $page"
    [ -s "$dir/text" ] || fail "$page: empty"
    [ -s "$dir/log" ] && { cat "$dir/log"; fail "$page: warnings of groff"; }
    lines=$(wc -l < "$dir/text")
    limit=$(limit "$page")
    printf '%4d lines of %4d: %s\n' "$lines" "$limit" "$page"
    [ "$lines" -le "$limit" ] || fail "$page: longer than $limit lines"
  done
else
  skip "man or groff is missing: the format of the pages is not checked"
fi

# A link to a section of another page of ours names one that it has.
cat "$srcdir"/*.pod | tr -s ' \n' ' ' |
  grep -o 'L<bl[^<>]*([1-8])/[^<>]*>' | sort -u |
  sed 's,^L<\(.*\)(\(.\))/\(.*\)>,\1 \2 \3,' > "$dir/links"
[ -s "$dir/links" ] || fail "links: not understood"
while read -r name number section; do
  pod=$srcdir/$name.$number.pod
  [ -e "$pod" ] || pod=$srcdir/$name.pod
  grep -qx "=head[12] $section" "$pod" || fail "no section '$section' in $pod"
done < "$dir/links"

# Every declaration of the headers is on a page, to the letter but for spaces.
awk '/^#/ { next } /^ *extern "C"/ || /^}$/ { next } { print }' \
    "$srcdir"/../include/*.h |
  sed 's,/\*[^*]*\*/,,; /\/\*/,/\*\//d' | tr -s ' \n' ' ' | tr ';' '\n' |
  sed -n 's/^ *\(.*(.*)\) *$/\1;/p' > "$dir/declarations"
cat "$srcdir"/blkhash.3.pod "$srcdir"/blkhash-leaves.pod |
  tr -s ' \n' ' ' > "$dir/text"
[ "$(wc -l < "$dir/declarations")" -gt 25 ] || fail "headers: not understood"
while read -r declaration; do
  grep -qF -e "$declaration" "$dir/text" ||
    fail "in a header and on no page: $declaration"
done < "$dir/declarations"

# page_has_options PAGE COMMAND...: the page explains the options that the commands
# have, and no others: their letters, their names, "=" for an argument, and "[=" for
# one that can be left out.  What a command has is a row of its table each, and so a
# line of --help.
page_has_options () {
  page=$1
  shift
  for command; do
    ../tools/$command --help
  done | sed -nE '/^  (-.,|   ) --/ {
    s/^ *(-.,)? *(--[-a-z]+)(\[=| [^ ])?.*/\1 \2\3/; s/ [^ ]$/=/; p
  }' | sort -u > "$dir/help-options"
  awk -v top="$srcdir/.." -f "$srcdir/include.awk" "$srcdir/$page" |
    sed -n 's/^=item //p' | tr -d 'BI<>' | grep '^-.' |
    sed -E 's/^--/ --/
            s/^(-.) ([A-Z]+), (--[-a-z]+=)\2$/\1, \3/
            s/^( --[-a-z]+=).*/\1/
            s/^((-.,)? --[-a-z]+\[=).*/\1/' | sort > "$dir/page-options"
  [ -s "$dir/help-options" ] || fail "$*: --help is not understood"
  diff -u "$dir/help-options" "$dir/page-options" || fail "options in $page"
}

page_has_options blksum.pod blksum
page_has_options blkhash-compare.pod "blkhash compare"
page_has_options blkhash-update.pod "blkhash update"
page_has_options blkhash-parts.pod "blkhash parts" "blkhash merge"
page_has_options blkhash-repair.pod "blkhash repair"
page_has_options blkhash-export.pod "blkhash export"

# page_has_parameters PAGE HEADER: a filter's page explains the parameters that the
# filter has, to the letter, and no others.
page_has_parameters () {
  sed -n 's/^ *"\(blkhash-[^ ]*\) .*/\1/p' "$srcdir/../filter/$2" |
    sort > "$dir/help-parameters"
  sed -n 's/[BI]<\([^>]*\)>/\1/g; s/^=item \(blkhash-\)/\1/p' \
    "$srcdir/$1" | sort > "$dir/page-parameters"
  [ -s "$dir/help-parameters" ] || fail "$2: not understood"
  diff -u "$dir/help-parameters" "$dir/page-parameters" ||
    fail "$1: other parameters than in $2"
}

page_has_parameters nbdkit-blkhash-filter.pod blkhash/params.h
page_has_parameters nbdkit-blkhash-verify-filter.pod verify/verify-params.h

# The reasons that nbdkit-blkhash-filter(1) lists are those that the filter gives,
# to the letter.
cat "$srcdir"/../filter/common/*.[ch] "$srcdir"/../filter/blkhash/*.[ch] | tr -d '\n' |
  sed 's/%" PRI[a-z0-9]* *"/N/g; s/%s/ERROR/g' > "$dir/code"
sed -n '/^Reasons for an export/,/^=back/s/^=item //p' \
    "$srcdir/nbdkit-blkhash-filter.pod" | sed 's/I<\([^>]*\)>/\1/g; s/, C</\
C</g' | sed 's/^C<\(.*\)>$/\1/' > "$dir/reasons"
[ "$(wc -l < "$dir/reasons")" -gt 5 ] || fail "reasons: not understood"
while read -r reason; do
  grep -qF -e "\"$reason\"" "$dir/code" ||
    fail "nbdkit-blkhash-filter.pod: the filter never says: $reason"
done < "$dir/reasons"

# The same for the messages that nbdkit-blkhash-verify-filter(1) lists.  X stands
# for numbers and names.
cat "$srcdir"/../filter/verify/*.c | tr -s ' \n' ' ' |
  sed 's/%" PRI[a-z0-9]* "/X/g; s/%" PRI[a-z0-9]*/X"/g; s/%z\{0,1\}[smdu]/X/g
       s/" "//g; s/XX/X/g' > "$dir/code"
sed -n '/^=head1 MESSAGES/,/^=back/s/^=item C<\(.*\)>$/\1/p' \
    "$srcdir/nbdkit-blkhash-verify-filter.pod" |
  sed 's/I<[A-Z]*>/X/g' > "$dir/messages"
[ "$(wc -l < "$dir/messages")" -gt 5 ] || fail "messages: not understood"
while read -r message; do
  grep -qF -e "\"$message\"" "$dir/code" ||
    fail "nbdkit-blkhash-verify-filter.pod: the filter never says: $message"
done < "$dir/messages"

exit $result

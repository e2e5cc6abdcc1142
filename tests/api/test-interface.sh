#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What docs/compatibility.md promises until 2.0 is as it was: interface.txt has commands,
# and what they print.  The manifests in v1 were written by version 1.0.
#
# BLKHASH_UPDATE_INTERFACE=1, which "make update-interface" sets, writes interface.txt.

. "$(dirname "$0")/../functions.sh"
[ "$SANITIZE" = no ] || skip "built with a sanitizer"
requires "$PYTHON" -c ''

interface=$abs_top_srcdir/tests/api/interface.txt
filters=$abs_top_builddir/filter/.libs
PATH=$abs_top_srcdir/filter:$PATH

# ---- Commands of interface.txt ----

# words: sorts words, one a line, and prints them in lines of 80 columns.
words () {
  LC_ALL=C sort -u | paste -s -d ' ' | fmt -w 80
}

# options COMMAND: "-l,--long=" has an argument; "[=" if it can be left out.
options () {
  "$@" --help | sed -nE '/^  (-.,|   ) --/ {
    s/^ *(-.,)? *(--[-a-z]+)(\[=| [^ ])?.*/\1\2\3/; s/ [^ ]$/=/; p
  }' | words
}

# parameters HEADER: those of a filter, with each of their values.
parameters () {
  sed -n 's/^ *"\(blkhash-[^ ]*\) .*/\1/p' "$abs_top_srcdir/filter/$1" |
    awk -F '[=|]' '{ for (i = 2; i <= NF; i++) print $1 "=" $i }' | words
}

# keys [FILE]: those of JSON, "a[].b" in the objects of a list, with the types of their
# values, or the words of "result".
keys () {
  "$PYTHON" -c '
import json, sys
def show(value, path):
    if isinstance(value, dict):
        for key in value:
            show(value[key], path + "." * (path != "") + key)
    elif isinstance(value, list):
        for item in value:
            show(item, path + "[]")
    else:
        print(path + ":" + (value if path.endswith("result")
                            else type(value).__name__))
for line in [open(sys.argv[1]).read()] if sys.argv[1:] else sys.stdin:
    show(json.loads(line), "")
' "$@" | words
}

# macros: of the public headers, with their values.
macros () {
  cat "$abs_top_srcdir"/include/*.h |
    sed -n '/VERSION/d; s/^#define \(BLKHASH_[A-Z_]*\) \([^ ]*\)$/\1=\2/p' | words
}

# python_names: "f(N:" is the Nth argument of f, which need not be named; "f(x" is one
# that must be.  "C<B": the class C has the base B.
python_names () {
  "$PYTHON" -c '
import blkhash, inspect
def show(name, thing):
    print(name)
    parameters = inspect.signature(thing).parameters.values() \
        if callable(thing) else ()
    for i, p in enumerate(p for p in parameters if p.name != "self"):
        print(name + "(" + "%d:" % i * (p.kind is not p.KEYWORD_ONLY) + p.name +
              ("" if p.default is p.empty else "=%r" % p.default))
for name in blkhash.__all__:
    thing = getattr(blkhash, name)
    if not isinstance(thing, type):
        show(name, thing)
        continue
    show(name, thing if {"__init__", "__new__"} & set(vars(thing)) else None)
    for base in thing.__bases__:
        print(name + "<" + base.__name__)
    for part in vars(thing):
        if part[0] != "_":
            show(name + "." + part, getattr(thing, part))
for thing in (blkhash.new(), blkhash.Manifest("disk.blkm"),
              blkhash.IncompleteError(0, 1), blkhash.UnknownDifference(0, 1)):
    for name in vars(thing):
        if name[0] != "_":
            print(type(thing).__name__ + "." + name)
' | words
}

# ---- The test ----

sections="library programs"
left_out=
if [ -e "$filters/nbdkit-blkhash-filter.so" ] && command -v nbdkit > /dev/null &&
   command -v nbdcopy > /dev/null && command -v nbdinfo > /dev/null; then
  sections="$sections filters"
else
  left_out=nbdkit
fi
if (. "$abs_top_srcdir/tests/python/python-functions.sh") > /dev/null; then
  . "$abs_top_srcdir/tests/python/python-functions.sh"
  sections="$sections python"
else
  left_out="${left_out:+$left_out and }the Python module"
fi

# An image with zeros between data, and a short last block; and another one.
cd "$dir"
truncate -s 1000000 disk
seq 20000 | dd of=disk conv=notrunc status=none
seq 99999 | head -c 100000 |
  dd of=disk conv=notrunc bs=64k seek=10 iflag=fullblock status=none
printf end | dd of=disk conv=notrunc bs=1 seek=999997 status=none
cp disk bad
printf x | dd of=bad conv=notrunc bs=1 seek=700000 status=none
cp disk 'a\b'
ln -s "$abs_top_srcdir/tests/api/v1" v1

# One shell runs all commands of these sections.  Before each it prints its line, and
# also what stands between the sections and commands.
awk -v sections="$sections" '
  function show (line) {
    print "cat << '\''END'\''\n" line "\nEND" > "commands"
  }
  /^== /        { skipped = index (sections, $2) == 0 }
  skipped       { next }
                { print > "expected" }
  /^(== |$)/    { in_output = 0 }
  /^\$ /        { show($0); print substr ($0, 3) > "commands"; in_output = 1 }
  !in_output    { show($0) }
' "$interface"
(set +e; . ./commands) > got 2> stderr
[ "$(grep -c '^\$ ' got)" -gt 20 ] || fail "commands did not run"
if ! diff -u expected got; then
  for file in expected got; do
    awk -F '[ ]' '/^\$ / { command = $0 ": " }
                  { for (i = 1; i <= NF; i++) print command $i }' $file |
      LC_ALL=C sort -u > $file.words
  done
  LC_ALL=C comm -23 expected.words got.words > gone
  if [ -s gone ]; then
    cat gone
    fail "this was changed or removed, but is promised until 2.0: see \
docs/compatibility.md"
  fi
  [ -n "$BLKHASH_UPDATE_INTERFACE" ] && [ -z "$left_out" ] ||
    fail "interface.txt lacks what was added: run 'make update-interface' in tests; \
from the next version on it is promised"
  cp got "$interface"
fi
[ -z "$left_out" ] || skip "a part of interface.txt is left out, without $left_out"

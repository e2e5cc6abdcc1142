#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Run the worked examples of blkhash-format(7) and compare what they print
# with what the page says.  Runs in the build directory, srcdir is the source.

set -e

for prog in openssl od python3; do
  command -v $prog > /dev/null || { echo "SKIP: $prog is missing"; exit 77; }
done

page=$(cd "${srcdir:-.}" && pwd)/blkhash-format.pod
PATH=$(cd ../tools && pwd):$PATH
export PATH

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# The Python program is the verbatim paragraph that imports hashlib.
sed -n '/^    import hashlib/,/^[^ ]/s/^    //p' "$page" > blkhash-format.py
[ -s blkhash-format.py ]

# All commands run in one shell, as they would at a prompt.  A line with the
# number of the command goes before each, in both files.
awk '
  /^    \$ /    { in_session = 1
                  print "echo \"command " ++n ":\"\n" substr ($0, 7) > "commands"
                  print "command " n ":" > "expected"; next }
  /^    > /     { print substr ($0, 7) > "commands"; next }
  /^    /       { if (in_session) print substr ($0, 5) > "expected"; next }
                { in_session = 0 }
' "$page"

sh -e commands > got
[ "$(grep -c '^command' got)" -gt 10 ]
diff -u expected got

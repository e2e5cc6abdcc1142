# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests of the completions.

# table_options: what is in the table of options, read from its source and not
# from what our programs make of it: "--name", and "-x" where there is a letter,
# a line each.
table_options () {
  sed -n "s/^ *{ GROUP_[A-Z]*, \('\(.\)'\|0\), \"\([^\"]*\)\",.*/-\2 --\3/p" \
      "$abs_top_srcdir/tools/cli/options.c" |
    tr ' ' '\n' | grep -v '^-$' | LC_ALL=C sort > "$dir/table"
  rows=$(grep -c '^ *{ GROUP_' "$abs_top_srcdir/tools/cli/options.c")
  [ "$(grep -c '^--' "$dir/table")" = "$rows" ] && [ "$rows" -gt 30 ] ||
    fail "cannot read the table of options"
  cat "$dir/table"
}

# make_names: files and directories to complete, in a new current directory.
make_names () {
  mkdir "$dir/names"
  cd "$dir/names"
  mkdir images images/deep 'a directory'
  : > disk.raw
  : > images/one.qcow2
  : > images/two.qcow2
  : > 'a directory/in it.blkm'
  : > 'white space.raw'
  : > "it's \"quoted\".raw"
  : > '$HOME;`id`.raw'
  : > -dash.raw
  : > mine.blkm
}

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests of the completions.

# table_options: prints the options of the table, sorted, one a line: "--name",
# and "-x" for an option with a letter.  They are read from the source of the
# table, so that they do not depend on the output of our programs.
table_options () {
  sed -n "s/^ *{ GROUP_[A-Z]*, \('\(.\)'\|0\), \"\([^\"]*\)\",.*/-\2 --\3/p" \
      "$abs_top_srcdir/tools/cli/option-table.c" |
    tr ' ' '\n' | grep -v '^-$' | LC_ALL=C sort > "$dir/table"
  rows=$(grep -c '^ *{ GROUP_' "$abs_top_srcdir/tools/cli/option-table.c")
  [ "$(grep -c '^--' "$dir/table")" = "$rows" ] && [ "$rows" -gt 30 ] ||
    fail "cannot read the table of options"
  cat "$dir/table"
}

# make_names: creates names of files and directories to complete, and changes to
# their directory.
make_names () {
  mkdir "$dir/names"
  cd "$dir/names"
  mkdir images images/deep 'a directory' mytools
  for name in disk.raw mine.blkm images/one.qcow2 images/two.qcow2 \
      'a directory/in it.blkm' 'white space.raw' 'a:b=c.raw' \
      "it's \"quoted\".raw" 'grün und blau.raw' '$HOME;`id`.raw' -dash.raw; do
    : > "./$name"
  done
  # A blksum that is run by its path.
  cat > mytools/blksum << 'END'
#!/bin/sh
[ "$1" = --complete ] || exec blksum "$@"
printf 'words\t\n--from-here\tthis one\n'
END
  chmod +x mytools/blksum
}

# complete_in SHELL: runs completion.py, without the configuration of the user.
complete_in () {
  requires_program "$1" "$PYTHON"
  table_options > "$dir/options"
  make_names
  # The blksum that the shells find: it only records its arguments.
  mv "$dir/bin/blksum" "$dir/bin/real-blksum"
  cat > "$dir/bin/blksum" << 'END'
#!/bin/sh
case $1 in
  --complete) exec real-blksum "$@" ;;
esac
printf '%s\0' "$@" > "$ARGS"
END
  chmod +x "$dir/bin/blksum"
  mkdir "$dir/home"
  env -i PATH="$PATH" LD_LIBRARY_PATH="$LD_LIBRARY_PATH" TMPDIR="$TMPDIR" \
    ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} \
    LC_ALL=C.UTF-8 HOME="$dir/home" XDG_CONFIG_HOME="$dir/home" \
    XDG_DATA_HOME="$dir/home" XDG_CACHE_HOME="$dir/home" \
    XDG_RUNTIME_DIR="$dir/home" INPUTRC=/dev/null ARGS="$dir/args" \
    COMPLETIONS="$abs_top_srcdir/completions" PYTHONDONTWRITEBYTECODE=1 \
    "$PYTHON" "$abs_top_srcdir/tests/completion.py" "$1" "$dir/options" ||
    fail "completions in $1"
}

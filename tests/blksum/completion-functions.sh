# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests of the completions.

# table_options COMMAND...: prints the options in the --help of COMMAND, sorted,
# one a line: "--name", and "-x" for an option with a letter.
table_options () {
  "$@" --help |
    sed -n 's/^  \(-\(.\), \|    \)--\([a-z-]*\).*/-\2 --\3/p' | tr ' ' '\n' |
    grep -v '^-$' | LC_ALL=C sort > "$dir/table"
  [ "$(grep -c '^--' "$dir/table")" -ge 5 ] || fail "no options in --help"
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
  table_options blksum > "$dir/options"
  make_names
  # The programs that the shells find: they only record their arguments.
  for program in blksum blkhash; do
    mv "$dir/bin/$program" "$dir/bin/real-$program"
    cat > "$dir/bin/$program" << END
#!/bin/sh
case \$1 in
  --complete) exec real-$program "\$@" ;;
esac
printf '%s\\0' "\$@" > "\$ARGS"
END
    chmod +x "$dir/bin/$program"
  done
  mkdir "$dir/home"
  env -i PATH="$PATH" LD_LIBRARY_PATH="$LD_LIBRARY_PATH" TMPDIR="$TMPDIR" \
    ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} \
    LC_ALL=C.UTF-8 HOME="$dir/home" XDG_CONFIG_HOME="$dir/home" \
    XDG_DATA_HOME="$dir/home" XDG_CACHE_HOME="$dir/home" \
    XDG_RUNTIME_DIR="$dir/home" INPUTRC=/dev/null ARGS="$dir/args" \
    COMPLETIONS="$abs_top_srcdir/completions" PYTHONDONTWRITEBYTECODE=1 \
    "$PYTHON" "$abs_top_srcdir/tests/blksum/completion.py" "$1" "$dir/options" ||
    fail "completions in $1"
}

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "make install" installs the files that users need, and no more; the installed
# programs work; another version of nbdkit refuses the filters; "make uninstall" removes
# all files.  README.md has these commands.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
requires_program make readelf
root=$dir/root
# Empty if the module is not built.
# shellcheck disable=SC2034 # pythondir begins with it
prefix=$(sed -n 's/^prefix = //p' "$abs_top_builddir/python/Makefile")
eval "pythondir=$(sed -n 's/^pythondir = //p' "$abs_top_builddir/python/Makefile")"

# make_as_in_readme TARGET: runs the command of README.md, with DESTDIR.
make_as_in_readme () {
  grep -q "^    sudo make -C build $1\$" "$abs_top_srcdir/README.md" ||
    fail "README.md has no command 'make $1'"
  run 0 make -C "$abs_top_builddir" "$1" DESTDIR="$root"
}

# completions: prints the files, in the directories that configure chose.
completions () {
  sed -n 's,^[a-z]*completion_DATA = ,,p' \
      "$abs_top_builddir/completions/Makefile" | tr ' ' '\n'
}

make_as_in_readme install
grep -q '^    sudo ldconfig' "$abs_top_srcdir/README.md" ||
  fail "README.md does not run ldconfig"

{
  echo blksum
  echo blkhash
  echo blkhash.h
  echo blkhash-leaves.h
  echo blkhash-manifest.h
  echo blkhash.pc
  echo libblkhash
  if [ -e "$abs_top_builddir/man/blksum.1" ]; then
    printf '%s\n' blksum.1 blkhash.1 blkhash-compare.1 blkhash-update.1 \
           blkhash-parts.1 blkhash-merge.1 blkhash-repair.1 \
           blkhash-export.1 blkhash.3 blkhash-leaves.3 blkhash-json.5 blkhash-manifest.5 blkhash-format.7 \
           blkhash-images.7
  fi
  if [ -d "$abs_top_builddir/filter/.libs" ]; then
    echo nbdkit-blkhash-filter.so
    echo nbdkit-blkhash-verify-filter.so
    echo blkhash-v2v
    [ ! -e "$abs_top_builddir/man/blksum.1" ] ||
      printf '%s\n' nbdkit-blkhash-filter.1 nbdkit-blkhash-verify-filter.1 \
             blkhash-v2v.1
  fi
  if [ -n "$pythondir" ]; then
    find "$abs_top_srcdir/python/blkhash" -name '*.py' -o -name py.typed |
      sed 's,.*/,,'
  fi
  completions | sed 's,.*/,,'
} | sort -u > "$dir/expected"
# The library has several file names.
find "$root" ! -type d | sed 's,.*/,,; s/^libblkhash\..*/libblkhash/' |
  sort -u > "$dir/installed"
diff -u "$dir/expected" "$dir/installed" || fail "other files were installed"

blksum=$(find "$root" -path '*/bin/blksum')
library=$(find "$root" -name libblkhash.so.0)
filter=$(find "$root" -name nbdkit-blkhash-filter.so)
verify=$(find "$root" -name nbdkit-blkhash-verify-filter.so)

# The program runs, not the wrapper of libtool, and searches nothing in the
# build directory.
printf hello > "$dir/image"
sum=337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6
prints_sum $sum "$blksum" "$dir/image"
for file in "$blksum" "$library" $filter $verify; do
  run 0 readelf -d "$file"
  ! grep -F -e "$abs_top_builddir" -e "$root" "$dir/stdout" ||
    fail "${file#"$root"}: contains a path of the build"
done

# Each completion is in the directory of its shell.  Debian's zsh searches
# others than upstream's.
for file in $(completions); do
  case $file in
    bash/*) place=share/bash-completion/completions ;;
    fish/*) place=share/fish/vendor_completions.d ;;
    zsh/*) place='share/zsh/[sv]*-[fc]*tions' ;;
  esac
  [ "$(find "$root" -path "*/$place/${file##*/}")" ] ||
    fail "$file is not in $place"
done

# With a sanitizer, nbdkit cannot load the filter unless the sanitizer is
# preloaded.
if [ -n "$filter" ] && [ "$SANITIZE" = no ] && command -v nbdkit; then
  run 0 nbdkit --filter="$filter" null --version
  grep -q '^blkhash ' "$dir/stdout" || fail "nbdkit does not load the filter"
  run 0 nbdkit --filter="$verify" null --version
  grep -q '^blkhash-verify ' "$dir/stdout" ||
    fail "nbdkit does not load the verify filter"

  # In these filters each digit of the version is another one.
  version=$(nbdkit --version | sed 's/^[^0-9]*\([0-9.]*\).*/\1/')
  for file in "$filter" "$verify"; do
    sed "s/$version/$(echo "$version" | tr 0-9 1-90)/" "$file" > "$dir/other-filter.so"
    run 1 nbdkit --filter="$dir/other-filter.so" null --version
    grep 'filter is incompatible with this version of nbdkit' "$dir/stderr" ||
      fail "no message about another version of nbdkit"
  done
fi

# Python finds the module, if it searches below the prefix: Debian's in
# dist-packages.  To import it leaves bytecode.
if [ -n "$pythondir" ] && [ "$SANITIZE" = no ]; then
  run 0 "$PYTHON" -c '
import os, site, sys
place = sys.argv[1]
lib = os.path.dirname (os.path.dirname (place)) + "/"
searched = [p for p in site.getsitepackages () if p.startswith (lib)]
assert place in searched or not searched, (place, searched)' "$pythondir"
  run 0 env PYTHONDONTWRITEBYTECODE= PYTHONPATH="$root$pythondir" \
    LD_LIBRARY_PATH="${library%/*}" "$PYTHON" -c 'import blkhash
print (blkhash.new (data=b"hello").hexdigest ())'
  [ "$(cat "$dir/stdout")" = $sum ] || fail "the Python module: not $sum"
  [ -e "$root$pythondir/blkhash/__pycache__" ] || fail "no bytecode"
fi

# Without DESTDIR it is compiled.
if [ -n "$pythondir" ]; then
  run 0 make -C "$abs_top_builddir/python" install pythondir="$dir/modules"
  [ -e "$dir/modules/blkhash/__pycache__" ] || fail "not compiled"
  run 0 make -C "$abs_top_builddir/python" uninstall pythondir="$dir/modules"
  rmdir "$dir/modules" || fail "the module was not removed"
fi

make_as_in_readme uninstall
find "$root" ! -type d > "$dir/left"
[ ! -s "$dir/left" ] || fail "left behind: $(cat "$dir/left")"
# Python would import an empty directory.
[ ! -e "$root$pythondir/blkhash" ] || fail "the module's directory is left"

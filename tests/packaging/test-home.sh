#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The commands of README.md, section "Install in detail", install all of it in the home
# directory of a user.  The programs, the library, the filters and the Python module
# are found there, as README.md and docs/python.md say; "make uninstall" removes all.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
requires_no_sanitizer "a build of its own"
requires_program make nbdkit
[ -d "$abs_top_builddir/filter/.libs" ] || skip "built without nbdkit"

HOME=$dir/home
PATH=$HOME/.local/bin:$PATH
export HOME PATH
mkdir -p "$HOME" "$dir/source/build-home"
# The source, which is not changed.
ln -s "$abs_top_srcdir"/* "$dir/source"
cd "$dir/source/build-home"
sed -n '/^## Install in detail/,/^License/s/^    //p' "$abs_top_srcdir/README.md" |
  grep -e '^../configure --prefix=$HOME' -e '^make install$' > commands
[ "$(wc -l < commands)" = 2 ] || fail "README.md has other commands"
sed -n 1p commands > configure
run 0 sh -e ./configure
cp "$dir/stdout" configured
run 0 make -j2
sed -n 2p commands > install
run 0 sh -e ./install

# Without the library of the build.
unset LD_LIBRARY_PATH
rm "$dir/bin/blksum"
printf hello > hello
sum=337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6
[ "$(command -v blksum)" = "$HOME/.local/bin/blksum" ] || fail "not in PATH"
prints_sum $sum blksum hello
for name in blkhash blkhash-verify; do
  run 0 nbdkit --filter="$HOME/.local/lib/nbdkit/nbdkit-$name-filter.so" null --version
  grep -q "^$name " "$dir/stdout" || fail "nbdkit does not load $name"
done
[ -e "$HOME/.local/share/zsh/site-functions/_blksum" ] ||
  fail "no completion for zsh: $(find "$HOME" -name '*blksum*')"
if grep -q '^pythondir = .' python/Makefile; then
  grep -q "$HOME/.local/lib/python[0-9.]*/site-packages" configured ||
    fail "configure does not print where the module is installed"
  run 0 env LD_LIBRARY_PATH="$HOME/.local/lib" "$PYTHON" -c 'import blkhash
print(blkhash.new(data=b"hello").hexdigest())'
  [ "$(cat "$dir/stdout")" = $sum ] || fail "another sum in Python"
fi

run 0 make uninstall
left=$(find "$HOME" ! -type d)
[ -z "$left" ] || fail "left behind: $left"

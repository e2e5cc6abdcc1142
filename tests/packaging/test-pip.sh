#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "pip install ./python" makes a wheel for each Python and each architecture, with all
# files of the module and the version of the source.  Without a network, so with the
# setuptools that is installed, and into a virtual environment.

. "$(dirname "$0")/../functions.sh"
[ "$SANITIZE" = no ] || skip "Python has no sanitizer"
requires "$PYTHON" -c 'import ctypes, setuptools, wheel'
requires "$PYTHON" -m venv --system-site-packages "$dir/venv"
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' \
              "$abs_top_builddir/config.h")

# setuptools writes beside the source.
mkdir "$dir/python"
(cd "$abs_top_srcdir/python" && cp -r ./*.toml ./*.cfg blkhash "$dir/python")
chmod -R u+w "$dir/python"

pip () {
  run 0 env HOME="$dir" "$dir/venv/bin/python" -m pip --isolated "$@"
}
pip wheel --no-index --no-deps --no-build-isolation -w "$dir/wheels" "$dir/python"
wheel=$dir/wheels/blkhash-$version-py3-none-any.whl
[ -e "$wheel" ] || fail "not $wheel: $(ls "$dir/wheels")"

pip install --no-index "$wheel"
installed=$(echo "$dir"/venv/lib/python3*/site-packages/blkhash)
diff -r --exclude=__pycache__ "$abs_top_srcdir/python/blkhash" "$installed" ||
  fail "other files were installed"

run 0 "$dir/venv/bin/python" -c 'import blkhash
print (blkhash.__file__)
print (blkhash.__version__)
print (blkhash.new (data=b"hello").hexdigest ())'
printf '%s\n' "$installed/__init__.py" "$version" \
  337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6 |
  diff - "$dir/stdout" || fail "see above"

pip uninstall --yes blkhash
[ ! -e "$installed" ] || fail "the module is left"

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the tests of the Python module, after functions.sh: Python imports
# the module of the source, which loads the library of the build.

requires_no_sanitizer "Python would need LD_PRELOAD"
[ "$PYTHON" != no ] || skip "python3 is missing"
[ -e "$abs_top_builddir/lib/.libs/libblkhash.so.0" ] ||
  skip "built without a shared library"
requires "$PYTHON" -c 'import sys, ctypes; assert sys.version_info >= (3, 9)'
PYTHONPATH=$abs_top_srcdir/python:$PYTHONPATH
export PYTHONPATH

# Warnings are errors, and debug checks are on: of buffers, of unclosed files.
python="$PYTHON -W error -X dev"

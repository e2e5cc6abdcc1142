# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by tests that let calls of library functions fail, after functions.sh.

# build_call_faults LIBRARY...: builds the library that is preloaded, and links it
# with these.
build_call_faults () {
  nbd=--no-nbd libnbd=
  if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h"; then
    nbd=--nbd libnbd="-DHAVE_LIBNBD $LIBNBD_CFLAGS"
  fi
  ${CC:=cc} -shared -fPIC $OPENSSL_CFLAGS $libnbd -o "$dir/call-faults.so" \
    "$abs_top_srcdir"/tests/campaign/call-faults*.c -ldl \
    -Wl,--no-as-needed "$@" 2> "$dir/cc.log" ||
    skip "cannot build call-faults.c: $(head -n 3 "$dir/cc.log")"
}

# call_faults ARGUMENT...: runs test-call-faults.py, with $BLKHASH_ROUNDS random
# faults, or all.
call_faults () {
  "$PYTHON" "$abs_top_srcdir/tests/campaign/test-call-faults.py" \
    --library "$dir/call-faults.so" "$@" \
    ${BLKHASH_ROUNDS:+--faults "$BLKHASH_ROUNDS"}
}

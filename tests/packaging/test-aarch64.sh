#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A build for aarch64 computes the same sums, with each kernel that only that
# CPU has, and without them.  The library and blksum are built with a cross
# compiler and run in qemu-user: unit tests, the public API, random calls, and
# blksum on some files.  Nothing here measures speed.  The short form has only
# the unit tests of the kernels of that CPU, and not blksum; it is skipped if neither
# the last commit nor the working tree changed the kernels.
#
# "./quickstart check" fetches the libraries of aarch64 to link with; for a
# build elsewhere, BLKHASH_AARCH64_SYSROOT=DIR names their directory.

. "$(dirname "$0")/../functions.sh"

host=aarch64-linux-gnu
sysroot=${BLKHASH_AARCH64_SYSROOT:-$abs_top_builddir/aarch64-sysroot}
libs=$sysroot/usr/lib/$host
build=$dir/build

[ "$SANITIZE" = no ] || skip "only in a build without sanitizers"
is_long || ! git -C "$abs_top_srcdir" diff --quiet HEAD~1 -- lib/lanes ||
  skip "lib/lanes did not change, so only in the long form"
[ "$(uname -m)" != aarch64 ] || skip "all other tests run on aarch64 here"
[ ! -e "$abs_top_srcdir/config.status" ] ||
  skip "a second build needs sources that were not built in place"
requires_program $host-gcc pkg-config
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) ||
  skip "qemu-aarch64 is missing"
[ -d "$sysroot" ] ||
  skip "no libraries of aarch64 in $sysroot: \"./quickstart check\" fetches them"
qemu="$qemu -L $sysroot"

# With a clean environment: make passes CC, JSON_C_CFLAGS and others of the
# native build to tests.
cross () {
  env -i PATH="$PATH" TMPDIR="$TMPDIR" LC_ALL=C "$@"
}

# Check first that compiler, libraries and qemu fit together.
echo '#include <openssl/evp.h>
int main (void) { return EVP_sha256 () == NULL; }' > "$dir/fits.c"
headers="-I$sysroot/usr/include -I$sysroot/usr/include/$host"
needed="-Wl,-rpath-link,$libs:$sysroot/lib/$host"
cross $host-gcc $headers $needed -o "$dir/fits" "$dir/fits.c" \
      -L"$libs" -lcrypto || skip "$host-gcc and $sysroot do not fit together"
cross $qemu "$dir/fits" || skip "${qemu%% *} and $sysroot do not fit together"

# ---- Build ----

mkdir "$build"
cd "$build"
cross PKG_CONFIG_LIBDIR="$libs/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$sysroot" \
      CPPFLAGS="-I$sysroot/usr/include/$host" LDFLAGS="$needed" CFLAGS=-O2 \
      "$abs_top_srcdir/configure" -q --host=$host --disable-shared \
      --enable-werror --with-cmocka --without-libnbd --without-blake3 \
      --without-libb2 --without-xxhash --without-nbdkit \
      --without-zlib --without-zstd > /dev/null ||
  fail "configure for aarch64"

# cross_make DIRECTORY TARGET...  qemu-aarch64 7.2 aborts in the child of a fork that
# starts threads, so test-hash-fork is left out.
cross_make () {
  cross BLKHASH_NO_FORK=1 make -j"$(nproc)" VERBOSE=1 \
        LOG_COMPILER="${qemu%% *}" LOG_FLAGS="${qemu#* }" -C "$@" ||
    fail "make for aarch64: $*"
}

# ---- Unit tests ----

if is_long; then
  cross_make lib check
  cross_make tools check
else
  units='test-lane-kernel test-lanes test-lanes-choice'
  cross_make lib check check_PROGRAMS="$units" TESTS="$units"
fi
for kernel in arm64-x2 arm64-x3 arm64-x4; do
  grep "OK \] sha256 $kernel: lengths" lib/test-lane-kernel.log ||
    fail "$kernel was not tested"
done

# Simulate a CPU without these instructions; qemu has none to select.
echo '#include <sys/auxv.h>
unsigned long getauxval (unsigned long type) {
  return type == AT_HWCAP ? HWCAP_FP | HWCAP_ASIMD : 0;
}' > "$dir/plain.c"
cross $host-gcc -shared -fPIC -o "$dir/plain.so" "$dir/plain.c" ||
  fail "$dir/plain.c"
plain="$qemu -E LD_PRELOAD=$dir/plain.so"
run 0 $plain lib/test-lanes
run 0 $plain lib/test-lanes-choice
run 0 $plain lib/test-lane-kernel
! grep "OK \] sha256 arm64" "$dir/stdout" "$dir/stderr" ||
  fail "uses instructions that the CPU lacks"

cross_make tests test-api blkhash-driver

# ---- The library ----

# Two tests are left out: they count to 2^64, which takes minutes in qemu.
export BLKHASH_NO_RSS=1 BLKHASH_SHORT=1
for test in opts digest known-answers zero after-final aio free upstream-style \
            leaves-errors leaves-pieces leaves-once leaves-bound \
            leaves-in-order; do
  run 0 $qemu tests/test-api $test
  grep "^ok: .*$test" "$dir/stdout" || fail "no test of the API is $test"
done

rounds 10 50 50
BLKHASH_DRIVER_WRAPPER="$qemu" \
  "$PYTHON" "$abs_top_srcdir/tests/lib/test-random.py" \
  --driver tests/blkhash-driver || fail "random calls on aarch64"

# ---- blksum ----

# All of it is portable but the kernels: the long form is enough.
is_long || exit 0

cat > "$dir/bin/blksum-aarch64" << END
#!/bin/sh
exec $qemu $build/tools/blksum "\$@"
END
chmod +x "$dir/bin/blksum-aarch64"

make_image "$dir/image"
prints_sum "$(reference "$dir/image")" $plain tools/blksum "$dir/image"
seq 1 100000 > "$dir/odd"
: > "$dir/empty"
for file in image odd empty; do
  sum=$(reference "$dir/$file")
  prints_sum "$sum" blksum "$dir/$file"
  prints_sum "$sum" blksum-aarch64 "$dir/$file"
  for kernels in none arm64-x2 arm64-x3 arm64-x4 arm64; do
    prints_sum "$sum" env BLKHASH_CPU=$kernels blksum-aarch64 "$dir/$file"
  done
done

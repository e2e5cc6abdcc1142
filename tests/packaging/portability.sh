#!/bin/bash
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Build and test for other machines, with other compilers, and without what only
# Linux has.  See docs/portability.md, which has the results.
#
#   tests/in-debian.sh trixie tests/packaging/portability.sh              # all of it
#   tests/in-debian.sh trixie tests/packaging/portability.sh s390x clang  # two of it
#
# It installs packages of many machines in the system that it runs in: that is
# why in-debian.sh makes one.  Needs root there, and Linux 6.7: qemu-user runs
# the programs of other machines, and is registered with binfmt_misc in a user
# namespace of our own, which does not affect the rest of the system.
#
# The exit status is 0 if each target passed.

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=${BLKHASH_PORTABILITY:-/var/tmp/blkhash-portability}
all='aarch64 s390x ppc64le armhf i386 portable clang clang-i386 musl'

# Tests of the library that are scripts, and tests of blksum for what can differ
# between machines: byte order in files, sizes, times, descriptors.
library_tests='api/test-api.sh fuzz/test-fuzz.sh lib/test-manifest.sh
  lib/test-random.sh'
blksum_tests='blksum/test-2038.sh blkhash/test-bitmap.sh
  blksum/test-check.sh blkhash/test-compare.sh blkhash/test-compare-nbd.sh
  blksum/test-digests.sh blksum/test-errors.sh blksum/test-expect.sh
  blksum/test-formats.sh blksum/test-hash-options.sh blksum/test-json.sh
  blksum/test-manifest.sh blksum/test-manifest-operand.sh blkhash/test-merge.sh
  blksum/test-nbd-sizes.sh blksum/test-options.sh blkhash/test-parts.sh
  blkhash/test-part-compare.sh
  blksum/test-qcow2.sh blksum/test-qcow2-compressed.sh
  blksum/test-qcow2-corrupt.sh blksum/test-size.sh blksum/test-sizes.sh
  blksum/test-stdio.sh blksum/test-truncated.sh blkhash/test-update.sh
  blksum/test-vhdx.sh blksum/test-vmdk-crafted.sh blksum/test-vpc.sh'

# Tests that need neither libnbd nor qemu.
musl_tests='blksum/test-2038.sh blksum/test-check.sh blksum/test-digests.sh
  blksum/test-hash-options.sh blksum/test-options.sh blksum/test-sizes.sh'

# Installed for this machine, and as NAME:ARCHITECTURE for each other one.
libraries='libc6-dev libssl-dev libjson-c-dev libcmocka-dev libxxhash-dev
  libb2-dev zlib1g-dev libzstd-dev'
programs='build-essential autoconf automake libtool pkg-config perl python3
  python3-xxhash python3-libnbd qemu-utils qemu-user nbdkit libnbd-bin libnbd-dev
  xz-utils'

say ()
{
  printf '\n==== %s\n' "$*"
}

die ()
{
  printf 'portability.sh: %s\n' "$*" >&2
  exit 1
}

# Run a command with its output in a file, whose end is shown if it fails.
quietly ()
{
  local log=$1
  shift

  if ! "$@" > "$log" 2>&1 < /dev/null; then
    tail -n 20 "$log"
    echo "failed: $* (all of it: $log)"
    return 1
  fi
}

# Install packages, if any is missing: apt is slow with seven machines.
install ()
{
  local name

  for name; do
    dpkg-query -W -f '${db:Status-Status}\n' "$name" 2> /dev/null |
      grep -x installed > /dev/null || break
    name=
  done
  [ -z "$name" ] || DEBIAN_FRONTEND=noninteractive quietly "$work/apt.log" \
    apt-get -q -y --no-install-recommends install "$@"
}

# ---- Another machine ------------------------------------------------------

# Set debian, triplet, multiarch and emulator for TARGET.
describe ()
{
  emulator=
  case $1 in
    aarch64) debian=arm64 triplet=aarch64-linux-gnu emulator=aarch64 ;;
    s390x) debian=s390x triplet=s390x-linux-gnu emulator=s390x ;;
    ppc64le) debian=ppc64el triplet=powerpc64le-linux-gnu emulator=ppc64le ;;
    armhf) debian=armhf triplet=arm-linux-gnueabihf emulator=arm ;;
    i386 | clang-i386) debian=i386 triplet=i686-linux-gnu ;;
  esac
  multiarch=${triplet/i686/i386}
}

# libnbd can only be installed for one machine at a time.  For the others it is
# unpacked, after the packages that it needs are installed.
foreign_libnbd ()
{
  local debs=$work/debs-$debian needs

  [ ! -e "/usr/lib/$multiarch/pkgconfig/libnbd.pc" ] || return 0
  rm -rf "$debs"
  mkdir -p "$debs"
  cd "$debs"
  quietly "$work/apt.log" apt-get -q download "libnbd0:$debian" \
    "libnbd-dev:$debian"
  needs=$(dpkg-deb -f libnbd0_*.deb Depends |
    sed "s/([^)]*)//g; s/|[^,]*//g; s/ *\(,\|\$\)/:$debian /g")
  # shellcheck disable=SC2086 # a list
  install $needs
  for deb in *.deb; do
    dpkg -x "$deb" /
  done
  cd "$work"
}

foreign_packages ()
{
  local name names="gcc-$triplet g++-$triplet"

  if ! dpkg --print-foreign-architectures | grep -qx "$debian"; then
    dpkg --add-architecture "$debian"
    quietly "$work/apt.log" apt-get -q update
  fi
  for name in $libraries; do
    names="$names $name:$debian"
  done
  # shellcheck disable=SC2086 # a list
  install $names
  foreign_libnbd
}

# Run a command in an environment that can run programs of machine $emulator: a
# user namespace that maps all users, in which we are root too.
emulating ()
{
  local tmp pid status=0
  local conf=/usr/share/qemu/binfmt.d/qemu-$emulator.conf

  if [ -z "$emulator" ]; then
    "$@"
    return
  fi
  # The emulator itself takes memory; the tests that are left out count to 2^64.
  export BLKHASH_NO_RSS=1 BLKHASH_SHORT=1 BLKHASH_API_TESTS="opts digest linear
    kernels known-answers zero after-final no-buffer free aio no-descriptors
    upstream-style leaves-errors leaves-pieces leaves-once leaves-bound
    leaves-in-order"
  # Debian 13's emulator of s390x has no nanoseconds in fstat.
  [ "$emulator" != s390x ] || export BLKHASH_TIMES_IN_SECONDS=1
  [ -e "$conf" ] || die "no $conf: this needs qemu-user of Debian 13"
  tmp=$(mktemp -d)
  mkfifo "$tmp/ready" "$tmp/go"
  # shellcheck disable=SC2016 # for the inner shells
  unshare --user --mount bash -c '
    echo > "$0/ready"
    read -r < "$0/go"
    rm -r "$0"
    exec unshare --pid --fork --kill-child --mount-proc bash -c "
      mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
        cat \"\$0\" > /proc/sys/fs/binfmt_misc/register &&
        exec \"\$@\"" "$@"
  ' "$tmp" "$conf" "$@" < /dev/null &
  pid=$!
  read -r < "$tmp/ready"
  echo '0 0 4294967295' > /proc/$pid/uid_map
  echo '0 0 4294967295' > /proc/$pid/gid_map
  echo > "$tmp/go"
  wait $pid || status=$?
  return $status
}

# ---- Build and test -------------------------------------------------------

# build TARGET OPTION...: of configure
build ()
{
  local dir=$work/$1
  shift

  rm -rf "$dir"
  mkdir -p "$dir"
  cd "$dir"
  quietly "$dir/configure.out" "$top/configure" --enable-werror --with-cmocka \
    --without-nbdkit "$@" &&
    quietly "$dir/make.out" make -j"$(nproc)" -C lib &&
    quietly "$dir/make.out" make -j"$(nproc)" -C tools
}

# results DIRECTORY: prints what make check counted there, in one line, and the
# tests that did not pass.
results ()
{
  local what=$1 trs result

  printf '%s: ' "$what"
  find "$what" -name '*.trs' -exec sed -n 's/^:test-result: *//p' {} + |
    cut -d' ' -f1 | sort | uniq -c | awk '{ printf "%d %s ", $1, $2 }'
  echo
  while read -r trs; do
    result=$(sed -n 's/^:test-result: *\([A-Z]*\).*/\1/p' "$trs")
    case $result in
      PASS) ;;
      SKIP) echo "  $(grep -m 1 SKIP "${trs%.trs}.log")" ;;
      *) echo "  $result ${trs%.trs}"; tail -n 15 "${trs%.trs}.log" ;;
    esac
  done < <(find "$what" -name '*.trs' | sort)
}

# check DIRECTORY [TEST...]: runs the tests of the target that was built last
check ()
{
  local dir=$1 status=0
  shift

  find "$dir" -name '*.trs' -delete
  quietly "$dir/check.out" emulating make -k -j"$(nproc)" -C "$dir" check \
    VERBOSE=1 ${*:+TESTS="$*"} > /dev/null || status=1
  results "$dir"
  [ -n "$(find "$dir" -name '*.trs')" ] || { tail "$dir/check.out"; status=1; }
  return $status
}

# check_all [PART...]: the suites of the library and of blksum, and the scripts
check_all ()
{
  local status=0

  # shellcheck disable=SC2086 # lists
  {
    check lib || status=1
    check tools || status=1
    check tests $library_tests "$@" || status=1
  }
  return $status
}

# ---- Targets --------------------------------------------------------------

# For a machine whose compiler runs on this one.
for_machine ()
{
  local pkgs

  describe "$1"
  foreign_packages
  pkgs=/usr/lib/$multiarch/pkgconfig:/usr/share/pkgconfig
  PKG_CONFIG_LIBDIR=$pkgs build "$1" --host="$triplet" "${@:2}"
}

# With tests of blksum on the machines that differ most: byte order,
# instructions, size_t.
target_aarch64 () { for_machine aarch64; check_all $blksum_tests; }
target_s390x () { for_machine s390x; check_all $blksum_tests; }
target_i386 () { for_machine i386; check_all $blksum_tests; }
target_ppc64le () { for_machine ppc64le; check_all; }
target_armhf () { for_machine armhf; check_all blksum/test-2038.sh; }

target_clang ()
{
  emulator=
  install clang
  build clang CC=clang CXX=clang++
  check_all $blksum_tests
}

target_clang-i386 ()
{
  install clang
  for_machine clang-i386 CC='clang --target=i686-linux-gnu'
  check lib
  check tools
}

# Without what only Linux has; only bench/test-bench.sh needs posix_fadvise.
target_portable ()
{
  emulator=
  build portable CPPFLAGS="-include $top/tests/packaging/portable.h" \
    ac_cv_header_sys_eventfd_h=no ac_cv_func_eventfd=no \
    ac_cv_header_sys_prctl_h=no \
    ac_cv_func_preadv2=no ac_cv_func_posix_fadvise=no \
    ac_cv_func_pthread_condattr_setclock=no ac_cv_func_renameat2=no
  check_all $blksum_tests
}

# musl_source PACKAGE: change to its upstream source
musl_source ()
{
  local src=$work/musl-src/$1

  rm -rf "$src"
  mkdir -p "$src"
  cd "$src"
  quietly "$work/apt.log" apt-get -q source --download-only --tar-only "$1"
  tar -xf "$1"_*.orig.tar.?z* --strip-components=1
}

musl_openssl ()
{
  musl_source openssl
  quietly build.out ./Configure "linux-$(uname -m)" "--prefix=$root" \
    --libdir=lib CC="musl-gcc -idirafter $root/include" no-shared no-tests \
    no-apps no-docs no-engine no-module
  quietly build.out make -j"$(nproc)" build_libs
  quietly build.out make install_dev
}

# musl_cmake PACKAGE [OPTION]: build it for musl by cmake
musl_cmake ()
{
  musl_source "$1"
  quietly build.out cmake -B musl -DCMAKE_C_COMPILER=musl-gcc \
    -DCMAKE_INSTALL_PREFIX="$root" -DCMAKE_INSTALL_LIBDIR=lib \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DBUILD_APPS=OFF \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "${@:2}"
  quietly build.out make -C musl -j"$(nproc)" install
}

# Debian packages only a C library for musl, so we build the libraries we need.
musl_libraries ()
{
  local root=$work/musl-root

  install musl-tools cmake dpkg-dev
  # shellcheck disable=SC2016 # apt expands it
  if [ -z "$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Sources')" ]
  then
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list \
      > /etc/apt/sources.list.d/blkhash-source.list
    quietly "$work/apt.log" apt-get -q update
  fi
  mkdir -p "$root/include"
  # The headers of the kernel are the same for each C library.
  ln -sfn /usr/include/linux "$root/include/linux"
  ln -sfn /usr/include/asm-generic "$root/include/asm-generic"
  ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$root/include/asm"
  [ -e "$root/lib/libcrypto.a" ] || musl_openssl
  [ -e "$root/lib/libjson-c.a" ] || musl_cmake json-c
  # Tests that link it replace the clock, which cmocka must not call.
  [ -e "$root/lib/libcmocka.a" ] || musl_cmake cmocka -DHAVE_CLOCK_REALTIME=0
  cd "$work"
}

# Without libnbd: raw images only.
target_musl ()
{
  emulator=
  musl_libraries
  PKG_CONFIG_LIBDIR=$work/musl-root/lib/pkgconfig \
    build musl CC="musl-gcc -idirafter $work/musl-root/include" CXX=false \
    --disable-shared --without-libnbd
  check_all $musl_tests
}

# ---------------------------------------------------------------------------

case ${1-} in
  --of-target) target_"$2"; exit ;;   # we call ourselves
  -h | --help) sed -n '5,19s/^# \{0,1\}//p' "$0"; exit ;;
esac
[ $# -gt 0 ] || set -- $all
for target; do
  declare -F "target_$target" > /dev/null ||
    die "there is no target $target; there are: $all"
done
[ "$(id -u)" = 0 ] || die 'this needs root, in a system made for it'

mkdir -p "$work"
say "packages"
# shellcheck disable=SC2086 # a list
install $programs $libraries
if [ ! -x "$top/configure" ]; then
  quietly "$work/bootstrap.out" "$top/bootstrap"
fi

failed=
for target; do
  start=$SECONDS
  say "$target"
  # Not in "if", which disables -e.
  status=0
  bash "$0" --of-target "$target" || status=$?
  if [ $status = 0 ]; then
    echo "$target: passed, $((SECONDS - start)) s"
  else
    echo "$target: FAILED, $((SECONDS - start)) s"
    failed="$failed $target"
  fi
done
[ -z "$failed" ] || die "failed:$failed"

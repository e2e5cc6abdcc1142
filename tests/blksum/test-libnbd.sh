#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# libnbd is loaded only when it is needed.  If it is missing, raw images are
# still hashed, and for any other image an error names libnbd.  Tools that
# compute the dependencies of packages find it in an ELF note: see
# https://systemd.io/ELF_DLOPEN_METADATA/.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit memory
make_image "$dir/image"
sum=$(reference "$dir/image")
start_nbdkit memory 1m

# libraries COMMAND: prints the libraries that the dynamic linker loads.
libraries () {
  LD_DEBUG=files "$@" 2>&1 > "$dir/stdout" | sed -n 's/.*file=\([^ ]*\) .*/\1/p'
}
libraries blksum "$dir/image" > "$dir/raw"
grep -q libcrypto "$dir/raw" || skip "the C library has no LD_DEBUG"
! grep libnbd "$dir/raw" || fail "a raw image loads libnbd"
libraries blksum "$uri" > "$dir/nbd"
grep -q libnbd "$dir/nbd" || fail "LD_DEBUG does not show libnbd"

if command -v objcopy > "$dir/stdout"; then
  objcopy -O binary -j .note.dlopen \
    "$(real_program "$BLKSUM")" "$dir/note" ||
    fail "no section .note.dlopen"
  "$PYTHON" - "$dir/note" "$dir/nbd" << 'END' || fail "the note is wrong"
import json, struct, sys
note = open(sys.argv[1], "rb").read()
owner_size, size, kind = struct.unpack_from("=III", note)
assert note[12:16] == b"FDO\0" and owner_size == 4, note
assert kind == 0x407c0c0a and (size + 3) // 4 * 4 == len(note) - 16, note
assert note[16 + size - 1:] == bytes(len(note) - 15 - size), note
(library,) = json.loads(note[16:15 + size])
assert library["priority"] == "recommended" and library["feature"], library
(soname,) = library["soname"]
loaded = {path.split("/")[-1] for path in open(sys.argv[2]).read().split()}
assert soname in loaded, (soname, loaded)
END
fi

# in_place_of_libnbd FILE REGEX: with FILE as libnbd, an error matches.
in_place_of_libnbd () {
  mkdir -p "$dir/stand-in"
  cp "$1" "$dir/stand-in/libnbd.so.0"
  with_stand_in () {
    LD_LIBRARY_PATH=$dir/stand-in:$LD_LIBRARY_PATH "$@"
  }
  prints_sum "$sum" with_stand_in blksum "$dir/image"
  refuses "$2" with_stand_in blksum "$uri"
  # The second operand fails too, without a second attempt.
  run 2 with_stand_in blksum "$uri" "$uri"
  [ "$(grep -c -e "$2" "$dir/stderr")" = 2 ] ||
    fail "not one error for each operand"
}
: > "$dir/empty"
in_place_of_libnbd "$dir/empty" "cannot load libnbd: "

# The library that is built here has no sanitizer.
[ "$SANITIZE" = no ] || exit 0
: "${CC:=cc}"
requires $CC --version
echo "int other;" > "$dir/other.c"
requires $CC -shared -fPIC -o "$dir/other.so" "$dir/other.c"
in_place_of_libnbd "$dir/other.so" "cannot use libnbd: .*nbd_"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The filter changes no data, error, flag or reply.

. "$(dirname "$0")/../filter-functions.sh"

requires_no_sanitizer

make_image "$dir/image"
cat > "$dir/ask.py" << 'END'
import sys, nbd
h = nbd.NBD()
h.set_strict_mode(0)
h.add_meta_context("base:allocation")
h.set_full_info(True)
h.set_export_name(sys.argv[2])
h.connect_unix(sys.argv[1])
def ask(what, *args):
    try:
        r = getattr(h, what)(*args)
        if isinstance(r, (bytes, bytearray)):
            r = hash(bytes(r))
    except nbd.Error as e:
        r = e.errno
    print(what, args[1:] if what == "pwrite" else
          [a for a in args if not callable(a)], r)
for f in ("get_size", "is_read_only", "can_flush", "can_fua", "can_trim",
          "can_zero", "can_fast_zero", "can_multi_conn", "can_cache", "can_df",
          "is_rotational", "get_canonical_export_name",
          "get_export_description"):
    ask(f)
for what in (nbd.SIZE_MINIMUM, nbd.SIZE_PREFERRED, nbd.SIZE_MAXIMUM):
    ask("get_block_size", what)
size = h.get_size()
def show(*args):
    print(args)
    return 0
for count, offset in ((1, 0), (512, 1), (65536, 65536), (100000, 4000),
                      (size, 0), (1, size), (1, size - 1), (2, size - 1),
                      (0, 0), (1 << 20, size - 100)):
    if count <= 64 << 20:
        ask("pread", count, offset)
    ask("block_status", count, offset, show)
    ask("block_status", count, offset, show, nbd.CMD_FLAG_REQ_ONE)
    ask("pwrite", b"x" * min(count, 1 << 20), offset)
    ask("pwrite", b"y" * min(count, 1 << 20), offset, nbd.CMD_FLAG_FUA)
    for what in "zero", "trim":
        ask(what, min(count, 1 << 20), offset)
        ask(what, min(count, 1 << 20), offset, nbd.CMD_FLAG_FUA)
    # nbdkit 1.32 ends if a client sends this flag although it was not offered.
    if h.can_fast_zero():
        ask("zero", min(count, 1 << 20), offset, nbd.CMD_FLAG_FAST_ZERO)
    ask("zero", min(count, 1 << 20), offset, nbd.CMD_FLAG_NO_HOLE)
    ask("cache", min(count, 1 << 20), offset)
    if count <= 64 << 20:
        ask("pread", count, offset)
ask("flush")
END

# same ARGUMENT...: runs a server with the filter and one without, each with its
# own disk, and compares the replies.
same () {
  for which in without with; do
    cp "$dir/image" "$dir/disk"
    if [ $which = with ]; then
      serve "$@" blkhash-file="$sums"
    else
      servers=$((servers + 1))
      socket=$dir/nbd$servers.sock
      uri=nbd+unix:///?socket=$socket
      nbdkit -f -U "$socket" -P "$socket.pid" "$@" 2> "$dir/plain.log" &
      server=$!
      kill_at_exit $server
      wait_until test -s "$socket.pid"
    fi
    for name in "" other; do
      PYTHONHASHSEED=0 "$PYTHON" "$dir/ask.py" "$socket" "$name"
      nbdinfo "nbd+unix:///$name?socket=$socket"
      nbdinfo --map "nbd+unix:///$name?socket=$socket"
      nbdinfo --list "$uri"
    done 2>&1 | sed "s|$socket|SOCKET|g" > "$dir/$which"
    kill $server || fail "nbdkit ended: $(cat "$dir/$which" "$dir/plain.log")"
    wait $server || [ $which = without ] ||
      fail "nbdkit $*: $(tail -n 40 "$log")"
  done
  diff "$dir/without" "$dir/with" || fail "with the filter: nbdkit $*"
}

same file "$dir/disk"
same -r file "$dir/disk"
same memory 1M
same null 100000
same data '1 2 3' size=5M
same pattern 1M
mkdir "$dir/disks"
cp "$dir/image" "$dir/disks/other"
same file dir="$dir/disks"
same --filter=blocksize-policy memory 1M blocksize-minimum=512 \
     blocksize-preferred=4096 blocksize-maximum=65536 \
     blocksize-error-policy=error
same --filter=nozero --filter=noextents memory 1M
same --filter=nocache --filter=fua memory 1M fuamode=emulate
same --filter=error memory 1M error=ENOSPC error-rate=100%
same --filter=exportname memory 1M exportname-list=explicit \
     exportname=other default-export=other exportname-strict=true
same eval get_size='echo 1M' pread='head -c $3 /dev/zero' \
     pwrite='cat > /dev/null; echo EPERM No >&2; exit 1' is_rotational='exit 0' \
     can_fua='echo native' can_cache='echo emulate' can_trim='exit 0' \
     trim='echo ENOSPC No >&2; exit 1' can_extents='exit 0' \
     extents='echo 0 1M zero' \
     list_exports='echo NAMES; echo one; echo other' \
     export_description='echo about $3' default_export='echo other'
same eval get_size='echo 1M' pread='echo EIO No >&2; exit 1' \
     can_extents='exit 0' extents='echo ENOMEM No >&2; exit 1'

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The verify filter with plugins of nbdkit, and with filters above and below it.

. "$(dirname "$0")/../verify-functions.sh"
requires_nbdkit memory pattern partitioning

prove "$image"

# Filters above and below that change nothing.
for filter_of_nbdkit in delay log noextents nozero blocksize readahead retry \
                        rate multi-conn noparallel; do
  nbdkit --filter=$filter_of_nbdkit null --version > /dev/null 2>&1 || continue
  for where in above below; do
    every 2 || continue
    above=
    set -- --filter=$filter_of_nbdkit
    if [ $where = above ]; then
      above=$1
      set --
    fi
    case $filter_of_nbdkit in
      delay) more=rdelay=1ms ;;
      log) more=logfile=/dev/null ;;
      rate) more=rate=1G ;;
      *) more= ;;
    esac
    verify "$@" file "$image" $more
    copies
    stop
  done
done
above=

# The disk is a part of another one.
{
  head -c 12345 /dev/urandom
  cat "$image"
  head -c 500 /dev/urandom
} > "$dir/larger"
verify --filter=offset file "$dir/larger" offset=12345 range=8388608
copies
stop
verify --filter=offset file "$dir/larger" offset=12345 \
       blkhash-verify-size=truncate
copies
stop

# A partition of it, and of it a partition.
verify --filter=partition partitioning "$image" partition=1
copies
stop
nbdkit -U - partitioning "$image" --run 'nbdcopy "$uri" -' > "$dir/parted"
prove "$dir/parted"
above=--filter=partition
verify file "$dir/parted" partition=1
copies
stop
above=
prove "$image"

# A file of a file system in it.
if command -v mke2fs > /dev/null &&
   nbdkit --filter=ext2 null --version > /dev/null 2>&1; then
  mkdir "$dir/root"
  head -c 300000 /dev/urandom > "$dir/root/file"
  run 0 env PATH="$PATH:/sbin:/usr/sbin" \
      mke2fs -q -t ext2 -b 4096 -d "$dir/root" "$dir/fs" 4m
  prove "$dir/fs"
  above=--filter=ext2
  verify file "$dir/fs" ext2file=/file
  image=$dir/root/file copies
  stop
  # A bad block of the file, and then of the superblock.
  "$PYTHON" -c '
import sys
fs, file = (open(name, "rb").read() for name in sys.argv[1:])
print(fs.index(file[200704:204800]) + 5)' "$dir/fs" "$dir/root/file" \
            > "$dir/where"
  flip "$dir/fs" "$(cat "$dir/where")"
  verify file "$dir/fs" ext2file=/file
  client "" "$reads
truth = content('$dir/root/file')
fails(512, 200704)
fails(len(truth), 0)
right(100000, 0)"
  stop
  flip "$dir/fs" "$(cat "$dir/where")"
  flip "$dir/fs" 1080
  verify file "$dir/fs" ext2file=/file
  run 1 nbdinfo --size "$uri"
  logged 1 "blkhash-verify: 65536 bytes at 0 differ from"
  stop
  above=
  prove "$image"
fi

# What a filter below decompresses.
if command -v xz > /dev/null && nbdkit --filter=xz null --version > /dev/null 2>&1
then
  xz -0 --block-size=1MiB -c "$image" > "$dir/image.xz"
  verify --filter=xz file "$dir/image.xz"
  copies
  stop
fi

# The first filter above it computes the checksum of what clients got.
above="--filter=$abs_top_builddir/filter/.libs/nbdkit-blkhash-filter.so"
verify file "$image" blkhash-file="$sums"
copies
wait_until test -s "$sums"
stop
has_line "$(sum_line "$(reference "$image")")" || fail "$(cat "$sums")"
above=

# Plugins without extents, and with some of zeros.
verify memory 8M blkhash-verify-fail=error
client "" "$reads
fails(len(truth), 0)
fails(1, 0)
right(65536, 262144 + 65536)"
stop
truncate -s 1234567 "$dir/zeros"
prove "$dir/zeros"
verify memory 1234567
image=$dir/zeros copies
stop
"$PYTHON" -c '
import struct, sys
for i in range(0, 1 << 20, 8): sys.stdout.buffer.write(struct.pack(">Q", i))' \
  > "$dir/pattern"
prove "$dir/pattern"
verify pattern 1M
image=$dir/pattern copies
stop
prove "$image"

# cow above it gives writes, which are not verified.
above=--filter=cow
verify file "$image"
client "" "$reads
h.pwrite(b'new' * 1000, 100)
assert h.pread(3000, 100) == b'new' * 1000
right(100, 0)
right(4096, 5242880)"
stop
above=

# A cache above it holds only what was verified; one below can hold a bad block,
# also when the plugin has the right one again.
cp "$image" "$dir/disk"
for where in above below; do
  flip "$dir/disk" 1048600
  if [ $where = above ]; then
    above=--filter=cache
    verify file "$dir/disk" cache-on-read=true
  else
    verify --filter=cache file "$dir/disk" cache-on-read=true
  fi
  client "" "$reads
fails(512, 1048576)
right(512, 0)"
  flip "$dir/disk" 1048600
  [ $where = above ] && expected=right || expected=fails
  client "" "$reads
$expected(512, 1048576)
with open('$dir/disk', 'r+b') as f: f.write(bytes(1000))
right(512, 0)"
  cp "$image" "$dir/disk"
  stop
  above=
done

# The plugin fails: always, while a file exists, or sometimes.
touch "$dir/trigger"
verify --filter=error file "$image" error-pread-rate=100% \
       error-file="$dir/trigger" blkhash-verify-fail=warn
client "" "$reads
fails(512, 0)
fails(200000, 0)
fails(200000, 65536)
right(65536, 327680)
os.unlink('$dir/trigger')
right(512, 0)
right(len(truth), 0)"
logged 1 "blkhash-verify: 65536 bytes at 0 cannot be read: Input/output error"
logged 1 "blkhash-verify: 65536 bytes at 65536 cannot be read: Input/output \
error"
stop
verify --filter=error file "$image" error-pread-rate=30% \
       blkhash-verify-retry=60
copies
stop

# retry below repairs failed reads of the plugin, so that none is seen here.
# A bad block is no failed read for it.
cp "$image" "$dir/disk"
flip "$dir/disk" 1048600
if nbdkit --filter=retry null --version > /dev/null 2>&1; then
  verify --filter=retry --filter=error file "$dir/disk" \
         error-pread-rate=50% retries=100 retry-delay=1 retry-exponential=no \
         blkhash-verify-retry=0
  client "" "$reads
while not any('retry 1: waiting' in line for line in open('$log', errors='replace')):
    right(65536, 0)
fails(512, 1048576)"
  logged 0 "blkhash-verify: 65536 bytes at 0"
  logged 1 "blkhash-verify: 65536 bytes at 1048576 differ from"
  stop

  # Above it repeats each read of a bad block, after a delay.
  above=--filter=retry
  verify file "$dir/disk" retries=2 retry-delay=1 retry-exponential=no \
         blkhash-verify-retry=0
  client "" "$reads
right(512, 0)
fails(512, 1048576)"
  found=$(grep -c 'retry [0-9]*: waiting' "$log") || :
  [ "$found" = 2 ] || fail "$found retries"
  # Each time the disk is opened anew.
  logged 3 "blkhash-verify: 65536 bytes at 1048576 differ from"
  stop
  above=
fi

# TLS.
if nbdkit --dump-config | grep -q '^tls=yes'; then
  printf 'alice:%s\n' 0123456789abcdef0123456789abcdef > "$dir/psk"
  above="--tls=require --tls-psk=$dir/psk"
  verify file "$image"
  copy "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk" "$dir/copy"
  cmp "$image" "$dir/copy" || fail "the copy differs"
  run 1 nbdcopy "$uri" "$dir/none"
  stop

  # tls-fallback serves another disk to clients without TLS: above it does not
  # reach us, and below it is refused.
  above="--tls=on --tls-psk=$dir/psk --filter=tls-fallback"
  verify file "$image"
  copy "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk" "$dir/copy"
  cmp "$image" "$dir/copy" || fail "the copy differs"
  copy "$uri" "$dir/message"
  stop
  above="--tls=on --tls-psk=$dir/psk"
  verify --filter=tls-fallback file "$image"
  copy "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk" "$dir/copy"
  cmp "$image" "$dir/copy" || fail "the copy differs"
  run 1 nbdcopy "$uri" "$dir/none"
  stop
  above=
fi

# Shell plugins do not run with a sanitizer.
[ "$SANITIZE" = no ] || exit 0

# Constraints: requests that the plugin does not take never reach it.
export image dir
verify eval get_size='echo 8388608' block_size='echo 4096 65536 131072' \
       pread='[ $(($3 % 4096)) = 0 ] && [ $(($4 % 4096)) = 0 ] &&
              [ $3 -le 131072 ] || echo "$3 $4" >> $dir/misused
              dd if=$image skip=$4 count=$3 iflag=skip_bytes,count_bytes \
                 status=none'
client "" "$reads
right(1, 1000003)
right(100000, 5)
right(512, len(truth) - 512)
right(2000000, 77)"
[ ! -e "$dir/misused" ] || fail "requests: $(cat "$dir/misused")"
stop

# Bad the first time it is read, and then good; and the other way round.
for retry in 0 1; do
  rm -f "$dir/again"
  verify eval get_size='echo 8388608' blkhash-verify-retry=$retry \
         pread='if [ -e $dir/again ]; then
                  dd if=$image skip=$4 count=$3 iflag=skip_bytes,count_bytes \
                     status=none
                else
                  touch $dir/again
                  head -c $3 /dev/zero
                fi'
  client "" "$reads
(fails if $retry == 0 else right)(512, 0)
right(512, 0)"
  stop
  grep -q "blkhash-verify: blocks: 1 ok, 0 differ, 0 unreadable, $retry \
transient" "$log" || fail "not counted: $(grep blocks: "$log")"
done

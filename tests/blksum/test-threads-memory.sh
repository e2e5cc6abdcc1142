#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum needs at most 128 MiB of memory, for all block sizes, numbers of
# threads, and kinds of sources.

. "$(dirname "$0")/../functions.sh"

[ -z "$wrapper" ] || skip "valgrind itself takes memory"
requires_no_sanitizer "sanitizers take memory"
[ "$(uname)" = Linux ] || skip "ru_maxrss has another meaning"

# As on the largest machines: an arena for each thread.
export MALLOC_ARENA_MAX=512

# peak COMMAND: prints the output of COMMAND, and its peak memory in MiB.
cat > "$dir/peak.py" << 'END'
import os, sys
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss // 1024)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
END

# modest SUM PROGRAM ARGUMENT...: PROGRAM ARGUMENT... prints SUM, in 128 MiB.
modest () {
  wanted_sum=$1 program=$2
  shift 2
  run 0 "$PYTHON" "$dir/peak.py" "$(real_program "$program")" "$@"
  got_sum=$(head -n 1 "$dir/stdout" | sed 's/.*) = //; s/ .*//')
  peak=$(tail -n 1 "$dir/stdout")
  echo "$peak MiB"
  [ "$got_sum" = "$wanted_sum" ] || fail "$got_sum is not $wanted_sum"
  [ "$peak" -le 128 ] || fail "peak memory of $peak MiB: $program $*"
}

# try_all IMAGE OPTIONS: as a file, a pipe, a qcow2, and exports of two servers,
# the second of which only accepts requests that are shorter than large blocks.
# In the short form every other one of them.
try_all () {
  options=$2
  # Other tests compare the sum with the reference.
  sum=$(blksum --no-names -c -t 1 ${options#-t * } "$1")
  ! every 2 || modest "$sum" "$BLKSUM" $options "$1"
  ! every 2 || cat "$1" | modest "$sum" "$BLKSUM" $options -
  ! every 2 || [ $have_qemu = no ] || modest "$sum" "$BLKSUM" $options "$1.qcow2"
  if [ $have_nbd = yes ]; then
    ! every 2 || eval "modest \$sum \$BLKSUM $options \"\$any_size_${1##*/}\""
    ! every 2 || eval "modest \$sum \$BLKSUM $options \"\$small_requests_${1##*/}\""
  fi
}

have_qemu=no
have_nbd=no
if (requires_qemu) > /dev/null; then have_qemu=yes; fi
if (requires_nbdkit file --filter=blocksize-policy) > /dev/null; then
  have_nbd=yes
fi

# Data, a hole, and a shorter last block.  The leaves of 12 MiB in blocks of 4
# bytes take 96 MiB.
truncate -s 20m "$dir/small"
write_data "$dir/small" 0 6291000
write_data "$dir/small" 14680064 6291456
truncate -s 160m "$dir/large"
write_data "$dir/large" 0 70000000
write_data "$dir/large" 90000000 77771648
for name in small large; do
  if [ $have_qemu = yes ]; then
    qemu-img convert -f raw -O qcow2 "$dir/$name" "$dir/$name.qcow2"
  fi
  if [ $have_nbd = yes ]; then
    start_nbdkit file "$dir/$name"
    eval "any_size_$name=\$uri"
    start_nbdkit --filter=blocksize-policy file "$dir/$name" \
      blocksize-maximum=1M blocksize-preferred=64K \
      blocksize-error-policy=error
    eval "small_requests_$name=\$uri"
  fi
done

try_all "$dir/small" "-t 16 -b 4"
try_all "$dir/small" "-t 128 -b 4"
try_all "$dir/large" "-t 16 -b 512 -d sha512"
try_all "$dir/large" "-t 128"
try_all "$dir/large" "-t 128 -b 1m"
try_all "$dir/large" "-t 16 -b 16m"
try_all "$dir/large" "-t 128 -b 16m"

# Digests of the content hold buffers: most memory if these are small.
"$PYTHON" - "$dir/pieces" << 'END'
import os, sys
with open(sys.argv[1], "wb") as f:
    f.truncate(768 << 20)
    for offset in range(0, 768 << 20, 65536):
        f.seek(offset)
        f.write(os.urandom(4096))
END
modest "$(blksum --no-names -b 512 "$dir/pieces")" "$BLKSUM" -t 128 -b 512 \
       --also sha256,md5,sha512 "$dir/pieces"
rm "$dir/pieces"

# An update with four million changed ranges, which are in no order, so that
# sorting them takes memory too.
size=34359738368
cp --sparse=always "$dir/large" "$dir/disk"
truncate -s $size "$dir/disk"
blksum -b 4k --manifest "$dir/disk.blkm" "$dir/disk" > "$dir/sum"
"$PYTHON" - > "$dir/changed" << 'END'
step = 65536
print('{"ranges":[', end="")
for first in reversed(range(0, 1 << 22, step)):
    print(",".join('{"start":%d,"length":4096,"result":"differs"}' % (i * 8192)
                   for i in range(first, first + step)),
          end="," if first > 0 else "")
print('],"images":[],"compared-bytes":34359738368,"result":"differs"}')
END
modest "$(cut -d' ' -f1 "$dir/sum")" "$BLKHASH" update -t 128 "$dir/disk.blkm" \
       --changed "$dir/changed" --audit 0% --manifest "$dir/new.blkm" \
       "$dir/disk"
rm "$dir/changed"

# 16 files at once, of the largest size that is hashed so, with blocks of the
# largest size, and of the smallest.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  head -c 4M "$dir/large" > "$dir/many$n"
done
sum=$(blksum --no-names -b 1m -c -t 1 "$dir/many1")
modest "$sum" "$BLKSUM" -b 1m "$dir"/many*
sum=$(blksum --no-names -b 4 -d sha512 -c -t 1 "$dir/many1")
modest "$sum" "$BLKSUM" -b 4 -d sha512 "$dir"/many*

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair writes a block only if it is still bad immediately before:
# the disk changes while a source is waited for, and is read again.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_nbdkit eval
requires_program strace
[ -z "$wrapper" ] || skip "no strace in valgrind"
requires_no_sanitizer "no strace with sanitizers"
requires strace -f -o "$dir/tmp/log" true

cd "$dir"
requires_direct
make_good good
make_manifest good

# A source whose first read waits until the file "go" exists.
start_nbdkit eval get_size="echo 4198400" \
  pread="touch $dir/reached; until [ -e $dir/go ]; do sleep 0.05; done
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"

# repair_meanwhile STATUS COMMAND...: repairs the disk, runs COMMAND when its bad
# blocks are known, and sets $writes to how many were written.
repair_meanwhile () {
  expected_status=$1
  shift
  rm -f reached go
  cp good disk
  damage disk 3 9
  strace -f -qq -P "$dir/disk" -o trace \
    -e trace=pwrite64,write,pwritev,pwritev2,ftruncate,fdatasync,pread64,preadv2 \
    blkhash repair --manifest good.blkm --sum "$sum" --limit 50% \
    --from "$uri" "$dir/disk" > stdout 2> stderr &
  pid=$!
  wait_until test -e reached
  "$@"
  touch go
  status=0
  wait $pid || status=$?
  [ $status = "$expected_status" ] || fail "exit status $status"
  writes=$(grep -c -e write -e truncate trace || :)
}

repair_meanwhile 0 true
[ "$(cat stdout)" = "$dir/disk: OK (2 blocks repaired)" ] || fail "not repaired"
is_silent
same disk good
[ $writes = 2 ] || fail "not 2 writes"
grep -q 'pwrite.*65536, 196608) *= 65536$' trace || fail "block 3 was not written"
grep -q 'pwrite.*65536, 589824) *= 65536$' trace || fail "block 9 was not written"

# Each is flushed then, and read back.
for offset in 196608 589824; do
  sed "1,/pwrite.*65536, $offset) *= 65536$/d" trace > after
  sed -n '1s/.* \(fdatasync\)(.*/\1/p' after > first
  [ "$(cat first)" = fdatasync ] || fail "not flushed"
  grep -q "pread.*, $offset\(,\|)\)" after ||
    fail "block at $offset is not read back"
done

# Writes that fail: the first one, and the second one.  A write that failed left the bad
# content here.
for n in 1 2; do
  cp good disk
  damage disk 3 9
  run 2 strace -f -qq -P "$dir/disk" -o trace -e trace=pwrite64 \
    -e inject=pwrite64:error=EIO:when=$n+ blkhash repair --manifest good.blkm \
    --sum "$sum" --limit 50% --from good "$dir/disk"
  says_once "disk: cannot write at offset $(((n * 6 - 3) * 65536)): Input/output error"
  if [ $n = 2 ]; then
    says_once "; 1 block was repaired before$"
  else
    ! grep "written" stderr || fail "nothing was written"
  fi
done

# The result of what was written before is printed.
truncate -s 40m big
write_data big 0 200000
write_data big 20000000 200000
blksum -b 16m --manifest 16m.blkm big > stdout
cp big big.bad
damage big.bad 0 306
run 2 strace -f -qq -P "$dir/big.bad" -o trace -e trace=pwrite64 \
  -e inject=pwrite64:error=EIO:when=2+ blkhash repair --output=json \
  --manifest 16m.blkm --sum none --limit 100% \
  --from big "$dir/big.bad"
says_once "cannot write at offset 16777216: .*; 1 block was repaired before$"
grep -q '"ranges":\[{"start":0,"length":16777216,"result":"repaired"}$' stdout ||
  fail "the first block is not in the result"
cmp -n 16777216 big big.bad || fail "the first block was not repaired"
rm big big.bad

# Another program writes a bad block meanwhile: what was good is not written, nor
# what is bad in another way.
changed () {
  cmp -s disk after || fail "a changed block was written"
  says_once "$dir/disk: changed meanwhile at offset $1: another program writes it"
}
mend () {
  dd if=good of=disk bs=64k skip=3 seek=3 count=1 conv=notrunc status=none
  cp disk after
}
repair_meanwhile 2 mend
[ $writes = 0 ] || fail "written"
changed 196608

mend_last () {
  dd if=good of=disk bs=64k skip=9 seek=9 count=1 conv=notrunc status=none
}
repair_meanwhile 2 mend_last
[ $writes = 1 ] || fail "not 1 write"
same disk good
says_once "changed meanwhile at offset 589824: .*; 1 block was repaired before$"

spoil () {
  printf 'something else' | dd of=disk bs=64k seek=3 conv=notrunc status=none
  cp disk after
}
repair_meanwhile 2 spoil
[ $writes = 0 ] || fail "written"
changed 196608

# The size changes.
grow () {
  echo more >> disk
  cp disk after
}
repair_meanwhile 2 grow
[ $writes = 0 ] || fail "written"
says_once "$dir/disk: changed its size from 4198400 to 4198405 bytes"
same disk after
shrink () {
  truncate -s 4000000 disk
  cp disk after
}
repair_meanwhile 2 shrink
[ $writes = 0 ] || fail "written"
says_once "$dir/disk: changed its size from 4198400 to 4000000 bytes"
same disk after

# The file is replaced by another one.
replace () {
  cp disk other
  mv other disk
}
repair_meanwhile 2 replace
[ $writes = 0 ] || fail "written"
says_once "$dir/disk: was replaced by another file"

# The disk cannot be opened by a program that respects the locks of qemu.
other () {
  status=0
  blksum disk > other.out 2> other.err || status=$?
  [ $status = 2 ] && grep -q "is in use by another program" other.err ||
    fail "it is not locked"
}
repair_meanwhile 0 other

# stopped_after CALL PATH COMMAND...: repairs the disk, and stops blksum after its first
# system call CALL (on PATH, unless that is empty).  Runs COMMAND and continues blksum,
# which must exit with status 2.
stopped_after () {
  call=$1 path=$2
  shift 2
  cp good disk
  damage disk 3
  touch -d @1000000000.5 disk
  : > trace
  timeout $limit strace -f -qq ${path:+-P "$path"} -o trace -e trace="$call" \
    -e inject="$call":signal=SIGSTOP:when=1 blkhash repair --manifest good.blkm \
    --sum "$sum" --limit 50% --from good --size 4198400 \
    "$dir/disk" > stdout 2> stderr &
  pid=$!
  wait_until grep -q "stopped by SIGSTOP" trace
  "$@"
  kill -CONT "$(sed -n '/stopped by SIGSTOP/{s/ .*//p;q}' trace)"
  status=0
  wait $pid || status=$?
  [ $status = 2 ] || fail "exit status $status"
}

# A FIFO replaces the disk after its stat.
replace_disk_by_fifo () {
  rm disk
  mkfifo disk
}
stopped_after %%stat "$dir/disk" replace_disk_by_fifo
says_once "$dir/disk: was replaced while it was opened$"
rm disk

# The file is modified during the flush at the start, which can take long: its content,
# only the seconds or nanoseconds of its mtime, or only its size.
modify () {
  case $what in
    content) damage disk 5 ;;
    seconds) touch -d @1000000001.5 disk ;;
    nanoseconds) touch -d @1000000000.6 disk ;;
    size) truncate -s +4096 disk && touch -d @1000000000.5 disk ;;
  esac
  cp disk after
}
for what in content seconds nanoseconds size; do
  stopped_after fdatasync "" modify
  says_once "disk: the file changed while it was read; nothing was written"
  same disk after
done

# A program that opens the file meanwhile.
cat > holder.py << 'END'
import time
disk = open("large", "r+b")
open("opened", "w").close()
time.sleep(600)
END
truncate -s 300m large
write_data large 0 100000
write_data large 200000000 100000
blksum --manifest large.blkm large > stdout
cp large twin
write_data large 7000 100
cp large before
at_exit "kill \$(cat $dir/holder) 2> kill.log || :"
status=0
midway '"$PYTHON" holder.py > holder.log 2>&1 & echo $! > holder
    until [ -e opened ]; do sleep 0.05; done' \
  blkhash repair --no-extents --manifest large.blkm --sum none --limit 100% \
  --from twin large > stdout 2> stderr || status=$?
kill "$(cat holder)" 2> kill.log || :
[ $status = 2 ] || fail "exit status $status"
says_once "large: is in use: process $(cat holder) ([^)]*) has it open for writing$"
same large before
wait_until has_ended "$(cat holder)"

# Another blksum reads the file.
midway 'blkhash repair --manifest large.blkm --sum none --limit 100% \
    --from twin large > other.out 2> other.err || :' \
  --no-extents large > stdout || fail "not hashed"
[ ! -s other.out ] && grep -q "^blkhash: large: is in use by another program" other.err ||
  fail "not refused: $(cat other.out other.err)"
same large before

# The same file changes while it is read for the first time.
status=0
midway 'printf x | dd of=large bs=1 seek=250000000 conv=notrunc status=none' \
  blkhash repair --no-extents --manifest large.blkm --sum none --limit 100% \
  --from twin large > stdout 2> stderr || status=$?
[ $status = 2 ] || fail "exit status $status"
says_once "large: the file changed while it was read"
printf x | dd of=before bs=1 seek=250000000 conv=notrunc status=none
same large before

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A warm migration of a machine that writes all the time, by the QMP commands of
# docs/migration.md, section "A machine that runs".  After each pass both
# manifests are those of the snapshot, read as a whole; at the end also that of
# the disk.  qemu-storage-daemon has the disk, and the machine is its client.

. "$(dirname "$0")/../filter-functions.sh"
. "$abs_top_srcdir/tests/unpacked.sh"
requires_no_sanitizer
requires_qemu
requires_program qemu-storage-daemon
requires_nbdkit file

passes=4
disk=$dir/disk.qcow2
dst=$dir/dst.raw
src_manifest=$dir/src.blkm
machine_uri=nbd+unix:///machine?socket=src.sock
snapshot=nbd+unix:///snapshot?socket=src.sock

# qmp: runs the commands on stdin.
qmp () {
  "$PYTHON" "$abs_top_srcdir/tests/blkhash/qmp.py" "$dir/qmp.sock" || fail "QMP"
}

# commands FIRST LAST: prints the commands of the guide from FIRST to LAST, for
# pass $n.  The guide has those of pass 2.
commands () {
  awk -v first="\"$1\"" -v last="\"$2\"" '
    /^## / { in_section = /A machine that runs/ }
    !in_section || !/^    / { next }
    /^    [{]/ { if (index ($0, first)) found = 1
                 if (ended) exit
                 if (index ($0, last)) ended = 1 }
    found' "$abs_top_srcdir/docs/migration.md" |
    sed "s/since-pass1/since-PREVIOUS/; s/pass2/pass$n/
         s/PREVIOUS/pass$((n - 1))/"
}

# The first pass has no bitmap of a pass before.
without_previous () {
  sed '/-disable"/d; s/^ *"bitmaps":.*/"bitmaps": []}}/; /bitmap-remove/d'
}

begin_pass () {
  qemu-img create -q -f qcow2 snapshot.qcow2 64M
  commands blockdev-add block-export-add > begin
  [ "$(grep -c '"execute"' begin)" = 3 ] || fail "the guide: $(cat begin)"
  [ "$n" != 1 ] || { without_previous < begin > first; mv first begin; }
  qmp < begin
}

end_pass () {
  commands block-export-del block-dirty-bitmap-remove > end
  [ "$(grep -c '"execute"' end)" = 4 ] || fail "the guide: $(cat end)"
  [ "$n" != 1 ] || { without_previous < end > first; mv first end; }
  qmp < end
}

# ---- The machine ----

start_machine () {
  qemu-storage-daemon --chardev socket,id=qmp,path=qmp.sock,server=on,wait=off \
    --monitor chardev=qmp --pidfile qemu.pid \
    --blockdev "driver=qcow2,node-name=disk,file.driver=file,file.filename=$disk" &
  qemu=$!
  kill_at_exit $qemu
  wait_until test -s qemu.pid
  n=1
  commands nbd-server-start nbd-server-start | qmp
  echo '{"execute": "block-export-add", "arguments": {"type": "nbd",
         "id": "machine", "node-name": "disk", "name": "machine",
         "writable": true}}' | qmp
  "$PYTHON" - "$machine_uri" << 'END' &
import nbd, os, random, sys, time
h = nbd.NBD()
h.connect_uri(sys.argv[1])
rng, count, size = random.Random(1), 0, h.get_size() // 512
while not os.path.exists("pause"):
    n = rng.randrange(1, 200)
    at = rng.randrange(size - n)
    if rng.random() < 0.2:
        h.zero(n * 512, at * 512)
    else:
        h.pwrite(rng.randbytes(n * 512), at * 512)
    count += 1
    with open("writes.new", "w") as f:
        f.write("%d\n" % count)
    os.rename("writes.new", "writes")
    time.sleep(0.01)
h.flush()
h.shutdown()
END
  machine=$!
  kill_at_exit $machine
  wait_until test -s writes
}

pause_machine () {
  touch pause
  wait $machine || fail "the machine failed"
}

# machine_writes: waits until it has written more.
machine_writes () {
  seen=$(($(cat writes) + 5))
  wait_until has_written
}

has_written () {
  kill -0 $machine 2> /dev/null || fail "the machine ended"
  [ "$(cat writes)" -ge "$seen" ]
}

# ---- A pass ----

copy_pass () {
  rm -f "$sums"
  serve file "$dst" blkhash-file="$sums" blkhash-manifest="$manifest" \
        blkhash-update=true
  if [ "$n" = 1 ]; then
    copy "$snapshot" "$uri"
    set -- blksum
  else
    set -- blkhash update --bitmap "since-pass$((n - 1))" "$src_manifest"
    nbdinfo --map="qemu:dirty-bitmap:since-pass$((n - 1))" "$snapshot" |
      awk '$3 == 1 { print $1, $2 }' > changed
    [ -s changed ] || fail "the bitmap is empty"
    client "" "
src = nbd.NBD()
src.connect_uri('$snapshot')
for line in open('changed'):
    start, length = map(int, line.split())
    h.pwrite(src.pread(length, start), start)
h.flush()
src.shutdown()"
  fi
  wait_until test -s "$sums"
  stop
  run 0 "$@" --manifest "$src_manifest" "$snapshot"
}

# The snapshot is read while the machine goes on.
check_pass () {
  [ -e pause ] || machine_writes
  run 0 blkhash compare "manifest:$src_manifest" "$snapshot"
  run 0 blkhash compare "manifest:$manifest" "$snapshot"
  run 0 blkhash compare "$dst" "$snapshot"
  [ -e pause ] || run 1 blkhash compare "manifest:$manifest" "$machine_uri"
}

cd "$dir"
write_data raw 3000000 10000000
truncate -s 64M raw dst.raw
qemu-img convert -f raw -O qcow2 raw "$disk"
start_machine
for n in $(seq $passes); do
  [ "$n" != $passes ] || pause_machine
  begin_pass
  [ -e pause ] || machine_writes
  copy_pass
  check_pass
  end_pass
done

run 0 blkhash compare "manifest:$src_manifest" "manifest:$manifest"
kill $qemu
wait $qemu || fail "qemu-storage-daemon: exit status $?"
run 0 blkhash compare "manifest:$manifest" "$disk"
run 0 qemu-img compare -f qcow2 -F raw "$disk" "$dst"

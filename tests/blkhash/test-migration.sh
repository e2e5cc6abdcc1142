#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A warm migration, as docs/migration.md describes it: a qcow2 that changes is
# copied in passes by its dirty bitmaps.  Each pass updates a manifest of the
# source and one of the destination.  At cutover these two are compared.
#
# Without a fault both are, after each pass, the manifests of the whole disks.
# Each fault is in a migration of its own, in the last pass but one, and the
# last pass does not repair it.  The faults that the two manifests cannot show
# are tested too: the guide says how to find them.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
requires_qemu
requires_program qemu-io
requires qemu-img bitmap --help
requires_nbdkit --filter=cow

passes=3
! is_long || passes=7
size=$((20 * 1048576 + 512))
vm=$dir/vm.qcow2
overlay=$dir/overlay.qcow2
dst=$dir/dst.raw
changed=$dir/changed
src_manifest=$dir/src.blkm
manifest=$dir/dst.blkm

# ---- The source ----

# serve_source IMAGE ARGUMENT...: serves the frozen disk.
serve_source () {
  image=$1
  shift
  run 0 qemu-nbd --fork -r -t -e 4 -f qcow2 --pid-file="$dir/src.pid" \
    -k "$dir/src.sock" "$@" "$image"
  source=$(cat "$dir/src.pid")
  kill_at_exit "$source"
  source_uri=nbd+unix:///?socket=$dir/src.sock
}

stop_source () {
  kill "$source"
  wait_until has_ended "$source"
}

# machine_writes IMAGE: each call changes one MiB, and the first and the last
# sector of the disk: whole blocks, parts of blocks, zeros, and trims.
machine_writes () {
  writes=$((writes + 1))
  at=$((writes * 1048576))
  run 0 qemu-io -f qcow2 \
    -c "write -P $writes 0 512" -c "write -P $writes $((size - 512)) 512" \
    -c "write -P $writes $at 64k" -c "write -P $writes $((at + 200000)) 300" \
    -c "write -z $((at + 393216)) 64k" -c "discard $((at + 524288)) 128k" \
    -c "write -P $writes $((at + 750000)) 100000" "$1"
}

# ---- The destination ----

# serve_destination PARAMETER...: with the filter $below below ours.
below=
serve_destination () {
  rm -f "$sums"
  serve $below file "$dst" blkhash-file="$sums" \
        blkhash-manifest="$manifest" blkhash-update=true "$@"
}

# stop_destination: when the filter has written its result.
stop_destination () {
  wait_until test -s "$sums"
  stop
}

# copy_ranges: copies the ranges in $changed, and writes them $shift bytes after
# their place.
shift=0
copy_ranges () {
  client "" "
src = nbd.NBD()
src.connect_unix('$dir/src.sock')
for line in open('$changed'):
    start, length = map(int, line.split())
    to = start + $shift
    if to + length <= $size:
        h.pwrite(src.pread(length, start), to)
h.flush()
src.shutdown()"
}

# ---- Passes ----

source_audit=0.1%               # of blkhash update

first_pass () {
  qemu-img bitmap --add -f qcow2 "$vm" pass1
  serve_source "$vm"
  run 0 blksum --manifest "$src_manifest" "$source_uri"
  serve_destination
  copy "$source_uri" "$uri"
  stop_destination
  stop_source
}

# pass N PARAMETER...: copies what has changed since the pass before.  Except in
# the last pass the machine continues meanwhile, on an overlay.
pass () {
  n=$1
  old=pass$((n - 1))
  shift
  qemu-img bitmap --add -f qcow2 "$vm" "pass$n"
  serve_source "$vm" -B "$old"
  nbdinfo --map="qemu:dirty-bitmap:$old" "$source_uri" |
    awk '$3 == 1 { print $1, $2 }' > "$changed"
  [ "$(wc -l < "$changed")" -ge 5 ] || fail "the bitmap lacks ranges"
  tracker="--bitmap $old"
  [ $((n + 1)) != $passes ] || "${fault}_in_pass"
  if [ "$n" != $passes ]; then
    qemu-img create -q -f qcow2 -b "$vm" -F qcow2 "$overlay"
    machine_writes "$overlay"
  fi
  serve_destination "$@"
  copy_ranges
  stop_destination
  run 0 blkhash update "$src_manifest" $tracker --audit $source_audit \
    --manifest "$src_manifest" "$source_uri"
  stop_source
  qemu-img bitmap --remove -f qcow2 "$vm" "$old"
  below= shift=0
  [ $((n + 1)) != $passes ] || "${fault}_after_pass"
  if [ "$n" != $passes ]; then
    qemu-img commit -q -f qcow2 "$overlay"
    machine_writes "$vm"
  fi
}

# migrate FAULT PARAMETER...: from the end of the first pass to cutover; the
# PARAMETERs are for the last pass.
migrate () {
  fault=$1
  shift
  echo "Migration: $fault $*"
  for file in "$dir/first"/*; do
    cp --sparse=always "$file" "$dir"
  done
  writes=0
  machine_writes "$vm"
  at_pass=2
  while [ $at_pass -lt $passes ]; do
    pass $at_pass
    at_pass=$((at_pass + 1))
  done
  pass $passes "$@"
}

for fault in none killed shifted replayed omitted damaged lost untracked; do
  eval "${fault}_in_pass () { :; }; ${fault}_after_pass () { :; }"
done
# In the faulty pass, the block in which the machine has written 300 bytes.
block=$(((2 * passes - 5) * 1048576 + 196608))

# compare STATUS: the two manifests.
compare () {
  run "$1" blkhash compare "manifest:$src_manifest" "manifest:$manifest"
}

# differs_at OFFSET: the last command found only this block.
differs_at () {
  [ "$(cat "$dir/stdout")" = "65536 bytes at $1 differ" ] ||
    fail "not only the block at $1 differs"
}

all_is_equal () {
  compare 0
  cmp "$src_manifest" "$manifest" || fail "two manifests of one disk"
  run 0 blkhash compare "manifest:$manifest" "$dst"
  run 0 blkhash compare "manifest:$src_manifest" "$vm"
}

write_data "$dir/raw" 0 $((size - 100000))
truncate -s $size "$dir/raw" "$dst"
qemu-img convert -f raw -O qcow2 "$dir/raw" "$vm"
first_pass
all_is_equal
mkdir "$dir/first"
mv "$vm" "$dst" "$src_manifest" "$manifest" "$dir/first"

# ---- No fault ----

none_after_pass () {
  all_is_equal
}
migrate none
all_is_equal
qemu-img convert -O raw "$vm" "$dir/raw"
cmp "$dir/raw" "$dst" || fail "the copy differs"
prints_sum "$(reference "$dst")" blksum "manifest:$src_manifest"
migrate none blkhash-audit=100%
all_is_equal

# nbdkit is killed during a pass, which is then repeated.
killed_in_pass () {
  serve_destination
  client "" "
h.pwrite(b'x' * 65536, $block)
os.kill($server, 9)
os._exit(0)"
  wait $server || :
  [ ! -s "$manifest" ] || fail "the manifest is still there"
}
killed_after_pass () {
  all_is_equal
}
migrate killed
all_is_equal

# ---- Faults that the comparison of the manifests finds ----

# A pass is written to a wrong offset.
shifted_in_pass () {
  shift=131072
}
migrate shifted blkhash-audit=100%
compare 1
run 1 blkhash compare "manifest:$src_manifest" "$dst"

# An earlier pass arrives again after the last one: the sectors that both have
# changed become old again.
replayed_in_pass () {
  cp "$vm" "$dir/old-vm"
  cp "$changed" "$dir/old-changed"
}
migrate replayed
compare 0
cp "$dir/old-changed" "$changed"
serve_source "$dir/old-vm"
serve_destination
copy_ranges
stop_destination
stop_source
compare 1
grep -qx '65536 bytes at 0 differ' "$dir/stdout" || fail "not the first block"

# The copy leaves out a range.
leave_out () {
  grep -qx "$block 65536" "$changed" || fail "$block is not in the list"
  sed -i "/^$block /d" "$changed"
}
omitted_in_pass () {
  leave_out
}
migrate omitted blkhash-audit=100%
compare 1
differs_at $block

# ---- Faults that it does not find, and what does ----

# A byte of the destination is changed, not by way of the filter.  If the audit
# does not read it, nothing is known of it.
damaged_after_pass () {
  printf '\377' | dd of="$dst" bs=1 seek=$((block + 10)) conv=notrunc \
    status=none
}
migrate damaged blkhash-audit=0%
compare 0
run 1 blkhash compare "manifest:$src_manifest" "$dst"
differs_at $block
migrate damaged blkhash-audit=100%
grep -qx "# unknown -: 65536 bytes at $block differ from the manifest" \
     "$sums" || fail "$(cat "$sums")"
compare 2

# The writes of a pass are acknowledged, and lost below the filter.
lost_in_pass () {
  below=--filter=cow
}
migrate lost blkhash-audit=0%
compare 0
run 1 blkhash compare "manifest:$src_manifest" "$dst"
migrate lost blkhash-audit=100%
grep -q '^# unknown -: .* bytes at .* differ from the manifest' "$sums" ||
  fail "$(cat "$sums")"
compare 2

# The tracker lacks a range: neither the copy nor the manifest of the source has
# it.
untracked_in_pass () {
  leave_out
  list_changes $size $(cat "$changed") > "$dir/list"
  tracker="--changed $dir/list"
}
source_audit=0%
migrate untracked blkhash-audit=100%
compare 0
run 0 blkhash compare "manifest:$src_manifest" "$dst"
prints_sum "$(blksum --no-names "$vm")" \
  blksum --manifest "$dir/full.blkm" "$vm"
run 1 blkhash compare "manifest:$dir/full.blkm" "manifest:$manifest"
differs_at $block
list_changes $size > "$dir/list"
run 1 blkhash update "$src_manifest" --changed "$dir/list" --audit 100% \
  --manifest "$dir/new.blkm" "$vm"
says "differ from $src_manifest; in no list" "no manifest was written"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# fio writes, trims and flushes through the filter, on several connections, and verifies
# what it reads back.  The sum and the manifest are those of the file at the end.  Half of
# the jobs use a mount of nbdfuse, if that works: the kernel chooses the requests.  Reads
# BLKHASH_SEED and BLKHASH_ROUNDS.

with_tsan=yes
. "$(dirname "$0")/../filter-functions.sh"
requires_program fio
requires fio --enghelp=nbd

mounts=yes
if ! command -v nbdfuse > /dev/null || ! command -v fusermount3 > /dev/null; then
  echo "nbdfuse or fusermount3 is missing: mounts are not tested"
  mounts=no
fi
mkdir "$dir/mount"
at_exit "fusermount3 -q -u -z '$dir/mount' 2> /dev/null || :"

# mount_disk: is false if it is not possible here, as in a container.
mount_disk () {
  rm -f "$dir/mounted"
  { nbdfuse -P "$dir/mounted" "$target" "$uri" || : > "$dir/failed"; } \
    2> "$dir/nbdfuse.log" &
  fuse=$!
  wait_until eval "[ -s $dir/mounted ] || [ -e $dir/failed ]"
  [ ! -e "$dir/failed" ]
}

# sum_is_right: after the last client has disconnected.
sum_is_right () {
  wait_until all_disconnected
  cp "$dir/disk" "$dir/content"
  wait_for_sum "$dir/content"
  manifest_is "$dir/content"
}

# run_job WAY SEED: WAY is nbd or mount.
run_job () {
  servers=0
  rm -f "$dir"/nbd1.sock* "$sums" "$manifest" "$dir/disk"
  target=nbd+unix:///?socket=$dir/nbd1.sock
  [ "$1" = nbd ] || target=$dir/mount/disk
  job=$("$PYTHON" "$abs_top_srcdir/tests/filter/fio-job.py" "$2" "$target")
  truncate -s "${job%% *}" "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
  if [ "$1" = mount ] && ! mount_disk; then
    echo "mounts are not tested: $(cat "$dir/nbdfuse.log")"
    mounts=no
  else
    run 0 timeout $limit fio --output="$dir/fio.out" --aux-path="$dir" ${job#* }
    ! grep 'err= *[1-9]' "$dir/fio.out" || fail "fio failed"
    if [ "$1" = mount ]; then
      fusermount3 -u "$dir/mount"
      wait $fuse
    fi
    sum_is_right
  fi
  stop
}

seed=${BLKHASH_SEED:-$("$PYTHON" -c 'import random; print(random.getrandbits(32))')}
rounds 6 300 30
echo "seed $seed, $BLKHASH_ROUNDS rounds"
for number in $(seq "$seed" $((seed + BLKHASH_ROUNDS - 1))); do
  # A seed has the same job in each run.
  way=nbd
  [ $((number % 2)) = 0 ] || [ $mounts = no ] || way=mount
  echo "BLKHASH_SEED=$number BLKHASH_ROUNDS=1: $way"
  run_job $way "$number"
done

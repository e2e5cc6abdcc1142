#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The functions of docs/backup.md make a chain of a full backup and seven
# increments, and find the first wrong one: in which a byte has changed, from
# which a block is missing, or that is the increment of another day.  What is
# wrong is known from copies of the disk at each checkpoint.  BLKHASH_SEED
# repeats a run with a printed seed; the long form damages each increment in
# each way.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io nbdinfo
requires qemu-img bitmap --help

seed=${BLKHASH_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed: $seed"
state=$seed

# random N: sets $random to a number from 0 to N - 1.
random () {
  state=$(((state * 1103515245 + 12345) % 2147483648))
  random=$((state / 256 % $1))
}

# ---- The functions of the guide ----

awk '/^    [$] uri=/ { print substr ($0, 7) }
     /^    [$] [a-z_]+ [(][)] [{]$/ { in_function = 1 }
     in_function { print substr ($0, 7) }
     /^      [}]$/ { in_function = 0 }' \
  "$abs_top_srcdir/docs/backup.md" > "$dir/guide"
. "$dir/guide"

# tail --pid waits until a server is reaped too, which can take seconds in a
# container.
stop () {
  server=$(cat vm.pid)
  kill_at_exit "$server"
  kill "$server"
  wait_until has_ended "$server"
}

# ---- The chain ----

# The last block of the disk is shorter.
size=$((16 * 1048576 + 1536))

# write_day: data and zeros at random places.  Each write of data has other
# bytes, and the last one is data, so that each day changes the disk.
pattern=0
write_day () {
  random 8
  writes=$((random + 3))
  for write in $(seq $writes); do
    random $((size / 512))
    at=$((random * 512))
    random 600
    length=$(((random + 1) * 512))
    [ $((at + length)) -le $size ] || length=$((size - at))
    pattern=$((pattern + 1))
    random 4
    if [ "$random" = 0 ] && [ "$write" != $writes ]; then
      echo "write -q -z -u $at $length"
    else
      echo "write -q -P $pattern $at $length"
    fi
  done > writes
  qemu-io -f qcow2 vm.qcow2 < writes > log || fail "qemu-io: $(cat log)"
}

mkdir "$dir/chain"
cd "$dir/chain"
truncate -s $size state.0
write_data state.0 1000000 5000000
qemu-img convert -f raw -O qcow2 state.0 vm.qcow2
qemu-img convert -f qcow2 -O qcow2 vm.qcow2 0.qcow2
run 0 blksum --manifest 0.blkm vm.qcow2
qemu-img bitmap --add -f qcow2 vm.qcow2 "$(name 0)"
for day in 1 2 3 4 5 6 7; do
  write_day
  run 0 increment $day
  cp reads reads.$day
  qemu-img convert -f qcow2 -O raw vm.qcow2 state.$day
done

# ---- Damage ----

# changed_byte K: sets $at to a random byte that the day K has changed.
changed_byte () {
  cmp -l state.$(($1 - 1)) state.$1 > changes || :
  random "$(wc -l < changes)"
  at=$(sed -n "$((random + 1)){s/^ *\([0-9]*\) .*/\1/p;q}" changes)
  at=$((at - 1))
}

# No write has the byte 255.
damage_byte () {
  changed_byte "$1"
  qemu-io -f qcow2 -c "write -q -P 255 $at 1" "$1.qcow2"
}

# As if the block had not been copied.
damage_block () {
  changed_byte "$1"
  qemu-img create -q -f qcow2 -F qcow2 -b "$1.qcow2" lost.qcow2
  awk -v lost=$((at / 65536)) '{
      for (end = $3 + $4; $3 < end; $3 += 65536)
        if ($3 / 65536 != lost)
          printf "read -q %d %d\n", $3, end - $3 < 65536 ? end - $3 : 65536
    }' "reads.$1" > reads
  qemu-io -C -f qcow2 lost.qcow2 < reads > log || fail "qemu-io: $(cat log)"
  qemu-img rebase -u -f qcow2 -F qcow2 -b $(($1 - 1)).qcow2 lost.qcow2
  mv lost.qcow2 "$1.qcow2"
}

damage_day () {
  random 6
  other=$((($1 + random) % 7 + 1))
  echo "the increment of day $other"
  cp "$other.qcow2" "$1.qcow2"
  qemu-img rebase -u -f qcow2 -F qcow2 -b $(($1 - 1)).qcow2 "$1.qcow2"
}

# finds EXPECTED: the first wrong increment, or "none".  Each checkpoint is
# called wrong if it is not the disk of that day.
finds () {
  first=none
  for day in 0 1 2 3 4 5 6 7; do
    qemu-img convert -f qcow2 -O raw $day.qcow2 restored
    wrong=0
    cmp -s restored state.$day || wrong=1
    [ $wrong = 0 ] || [ $first != none ] || first=$day
    run $wrong check $day
    run $wrong blksum -q --expect manifest:$day.blkm restored
  done
  [ $first = "$1" ] || fail "the first wrong checkpoint is $first, not $1"
  if [ $first = none ]; then
    run 0 first_wrong 0 1 2 3 4 5 6 7
    echo "all are right" > expected
  else
    run 1 first_wrong 0 1 2 3 4 5 6 7
    echo "$first: exit status 1" > expected
  fi
  cmp expected "$dir/stdout" || fail "not $first"
}

# damaged KIND K
damaged () {
  echo "damage: $1 of increment $2"
  cp -r "$dir/chain" "$dir/damaged"
  cd "$dir/damaged"
  damage_"$1" "$2"
  finds "$2"
  cd "$dir/chain"
  rm -r "$dir/damaged"
}

finds none
if is_long; then
  for day_damaged in 1 2 3 4 5 6 7; do
    for kind in byte block day; do
      damaged $kind $day_damaged
    done
  done
else
  for round in 1 2; do
    random 7
    day_damaged=$((random + 1))
    random 3
    case $random in
      0) damaged byte $day_damaged ;;
      1) damaged block $day_damaged ;;
      2) damaged day $day_damaged ;;
    esac
  done
fi

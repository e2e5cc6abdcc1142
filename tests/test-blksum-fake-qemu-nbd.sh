#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A qemu-nbd that does not do what it should: what it said, in some lines, or
# one that says why, and no process is left.

. "$(dirname "$0")/functions.sh"
requires_qemu

make_image "$dir/image"
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"

# Processes of what is in $dir/bin; not this grep.
left () {
  grep -lsz "$dir/[b]in/qemu-nbd" /proc/[0-9]*/cmdline | cut -d/ -f3
}
nobody_left () { [ -z "$(left)" ]; }
at_exit 'kill -9 $(left) 2> /dev/null || :'

# write_script SCRIPT: of qemu-nbd
write_script () {
  echo "+ qemu-nbd is: $1"
  printf '#!/bin/sh\n%s\n' "$1" > "$dir/bin/qemu-nbd"
  chmod +x "$dir/bin/qemu-nbd"
}

# fails REGEX SCRIPT
fails () {
  write_script "$2"
  for options in "" "--cache" "-f qcow2"; do
    refuses "$dir/qcow2: .*$1" timeout $limit blksum $options \
            "$dir/qcow2"
    wait_until nobody_left
  done
}

# fails_saying SCRIPT REGEX...: each is one line.
fails_saying () {
  write_script "$1"
  shift
  for options in "" "--cache" "-f qcow2"; do
    run 2 timeout $limit blksum $options "$dir/qcow2"
    [ ! -s "$dir/stdout" ] || fail "printed a sum"
    says "$@"
    says_of "$dir/qcow2"
    wait_until nobody_left
  done
}

# It exits at once.
fails "no good" 'echo "qemu-nbd: no good" >&2; exit 1'
fails "no good" 'echo "qemu-nbd: no good" >&2'
fails_saying 'echo "qemu-nbd: no good really" >&2; echo and more >&2; exit 1' \
             ": no good really$" ": and more$"
fails "qemu-nbd" 'exit 1'
fails "qemu-nbd" 'exit 0'
fails "qemu-nbd" 'kill -9 $$'

# What it says is long, or no text, or without an end.
fails_saying 'head -c 100000 /dev/zero | tr "\0" a >&2; exit 1' \
             "aaaa" "more lines are not shown"
fails_saying 'yes aaaaaaaaaaaaaaaa >&2' \
             aaa aaa aaa aaa aaa aaa aaa aaa aaa aaa "more lines are not shown"
fails_saying 'seq 3 12 >&2; exit 1' 3 4 5 6 7 8 9 10 11 12
fails_saying 'printf "\033[2J\r\001\177\nblksum: \302\2332J\n" >&2; exit 1' \
             '?\[2J???$' ': blksum: ?2J$'
if grep -q "$(printf '[\001\033\177\r]')" "$dir/stderr"; then
  fail "control characters"
fi

# That nobody took its replies is no reason: ours is, or what it says then.
broken="qemu-nbd: Disconnect client, due to: Unable to write to socket: \
Broken pipe"
fails "cannot connect to qemu-nbd" "echo '$broken' >&2; exit 1"
fails_saying "echo '$broken' >&2; echo qemu-nbd: no good >&2; exit 1" \
             ": no good$"

# It hangs up, and stays: it may still have something to say.
mkfifo "$dir/never"
write_script "exec 3>&-; read line < '$dir/never'"
refuses "$dir/qcow2: .*qemu-nbd" timeout $limit blksum --cache \
        "$dir/qcow2"
wait_until nobody_left

# It neither answers nor ends, as with a file on a network that is down: it is
# waited for, but the user need not.
stopped () {
  rm -f "$dir/started"
  blksum "$@" &
  blksum=$!
  wait_until test -e "$dir/started"
  kill -TERM $blksum
  wait $blksum
}
for script in "read line < '$dir/never'" \
              'while :; do echo no good >&2; done'; do
  write_script ": > '$dir/started'; $script"
  run 143 stopped "$dir/qcow2"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
  wait_until nobody_left
done

# It cannot be run, or is not there.
only () { PATH=$dir/bin "$@"; }
printf '#!/no/such/interpreter\n' > "$dir/bin/qemu-nbd"
refuses "$dir/qcow2: .*qemu-nbd" only blksum "$dir/qcow2"
chmod -x "$dir/bin/qemu-nbd"
refuses "$dir/qcow2: .*qemu-nbd" only blksum "$dir/qcow2"
rm "$dir/bin/qemu-nbd"
refuses "$dir/qcow2: .*qemu-nbd" only blksum "$dir/qcow2"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If qemu-nbd misbehaves, its messages are shown, or an error gives the reason,
# and no process is left.

. "$(dirname "$0")/../functions.sh"
requires_qemu

make_image "$dir/image"
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"

# left: prints the processes of programs in $dir/bin, without grep.
left () {
  grep -lsz "$dir/[b]in/qemu-nbd" /proc/[0-9]*/cmdline | cut -d/ -f3
}
none_left () { [ -z "$(left)" ]; }
at_exit 'kill -9 $(left) 2> /dev/null || :'

# write_script SCRIPT: replaces qemu-nbd.
write_script () {
  echo "+ qemu-nbd is: $1"
  printf '#!/bin/sh\n%s\n' "$1" > "$dir/bin/qemu-nbd"
  chmod +x "$dir/bin/qemu-nbd"
}

# fails REGEX SCRIPT: blksum prints one matching error.
fails () {
  write_script "$2"
  for options in "" "--cache" "-f qcow2"; do
    refuses "$dir/qcow2: .*$1" timeout $limit blksum $options \
            "$dir/qcow2"
    wait_until none_left
  done
}

# fails_saying SCRIPT REGEX...: blksum prints one line for each REGEX.
fails_saying () {
  write_script "$1"
  shift
  for options in "" "--cache" "-f qcow2"; do
    run 2 timeout $limit blksum $options "$dir/qcow2"
    [ ! -s "$dir/stdout" ] || fail "printed a sum"
    says "$@"
    says_of "$dir/qcow2"
    wait_until none_left
  done
}

# qemu-nbd exits at once.
fails "no good" 'echo "qemu-nbd: no good" >&2; exit 1'
fails "no good" 'echo "qemu-nbd: no good" >&2'
fails_saying 'echo "qemu-nbd: no good really" >&2; echo and more >&2; exit 1' \
             ": no good really$" ": and more$"
fails "qemu-nbd" 'exit 1'
fails "qemu-nbd" 'exit 0'
fails "qemu-nbd" 'kill -9 $$'

# Its messages are long, or binary, or have no end.
fails_saying 'head -c 100000 /dev/zero | tr "\0" a >&2; exit 1' \
             "aaaa" "the rest is not shown"
fails_saying 'yes aaaaaaaaaaaaaaaa >&2' \
             aaa aaa aaa aaa aaa aaa aaa aaa aaa aaa "the rest is not shown"
fails_saying 'seq 3 12 >&2; exit 1' 3 4 5 6 7 8 9 10 11 12
fails_saying 'printf "\033[2J\r\001\177\nblksum: \302\2332J\n" >&2; exit 1' \
             '?\[2J???$' ': blksum: ?2J$'
if grep -q "$(printf '[\001\033\177\r]')" "$dir/stderr"; then
  fail "a message has control characters"
fi

# A message that its replies were not read is not the reason: later messages
# are, or else our own error.
broken="qemu-nbd: Disconnect client, due to: Unable to write to socket: \
Broken pipe"
fails "cannot connect to qemu-nbd" "echo '$broken' >&2; exit 1"
fails_saying "echo '$broken' >&2; echo qemu-nbd: no good >&2; exit 1" \
             ": no good$"

# It closes the connection and keeps running: a message may still follow.
mkfifo "$dir/never"
write_script "exec 3>&-; read line < '$dir/never'"
refuses "$dir/qcow2: .*qemu-nbd" timeout $limit blksum --cache \
        "$dir/qcow2"
wait_until none_left

# It neither replies nor exits, as with a file on a network that is down: blksum
# waits, and a signal ends it.
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
  wait_until none_left
done

# It cannot be run, or does not exist.
only () { PATH=$dir/bin "$@"; }
printf '#!/no/such/interpreter\n' > "$dir/bin/qemu-nbd"
refuses "$dir/qcow2: .*qemu-nbd" only blksum "$dir/qcow2"
chmod -x "$dir/bin/qemu-nbd"
refuses "$dir/qcow2: .*qemu-nbd" only blksum "$dir/qcow2"
rm "$dir/bin/qemu-nbd"
refuses "$dir/qcow2: .*qemu-nbd" only blksum "$dir/qcow2"

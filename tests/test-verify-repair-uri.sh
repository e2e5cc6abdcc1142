#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The verify filter repairs bad blocks from NBD servers.  A server that hangs
# costs an error, and keeps neither a client nor nbdkit from ending; one that
# fails or lies costs nothing else.

. "$(dirname "$0")/verify-functions.sh"
prove "$image"
cd "$dir"

# A filter that was built without libnbd says so at the start.
if ! grep -q 'define HAVE_LIBNBD 1' "$abs_top_builddir/config.h"; then
  requires_no_sanitizer
  refuses_to_start \
    "error: blkhash-verify-repair-uri: this filter was built without libnbd" \
    file "$image" blkhash-verify-manifest="$manifest" blkhash-verify-sum=none \
    blkhash-verify-repair-uri=nbd://localhost
  exit 0
fi
requires_nbdkit file
cp "$image" disk
cp "$image" twin
flip disk 1048600
flip disk 1114200

# start_source ARGUMENT...: starts another nbdkit; sets $source_uri and $source.
start_source () {
  start_nbdkit "$@"
  source_uri=$uri
  source=$server
}

start_evil_source () {
  start_evil_server "$@"
  source_uri=$uri
  source=$server
}

is_gone () {
  ! kill -0 "$1" 2> /dev/null
}

end_source () {
  kill -9 $source 2> /dev/null || :
  wait $source 2> /dev/null || :
}

repair () {
  verify file disk blkhash-verify-repair-uri="$source_uri" "$@"
}

# counted BAD IN_FLIGHT: when nbdkit has ended, its counts of blocks.
counted () {
  stop
  grep -q "blocks: .* good, $1 bad, .* $2 repaired in flight" "$log" ||
    fail "not $1, $2: $(grep blocks: "$log")"
}

# By a server, which is only connected to when a block is bad.
start_source -r file twin
repair
client "" "$reads
right(1048576, 0)"
! grep libnbd /proc/$server/maps || fail "libnbd was loaded"
copies
counted 0 2

# With constraints, a larger export, and one that ends early.
for more in "" truncate; do
  [ -z "$more" ] || truncate -s $((1048576 + 70000)) twin
  for sizes in 512,512,65536 65536,65536,33554432 1,1,1000; do
    start_evil_source twin block-size $sizes
    repair
    client "" "$reads
right(65536, 1048576)
${more:+fails} ${more:+(512, 1114112)}"
    [ -n "$more" ] || copies
    counted $([ -z "$more" ] && echo 0 2 || echo 1 1)
    end_source
  done
done
cp "$image" twin

# A server that lies, fails, or closes the connection.
for fault in "half" "none" "hole" "empty" "long" "elsewhere" "error" \
             "late-error" "simple-error" "cookie" "die 1000" "size 5"; do
  start_evil_source twin $fault
  repair
  client "" "$reads
for i in range(3):
    fails(65536, 1048576)
right(1048576, 0)"
  counted 1 0
  end_source
done

# The next source has it.
start_evil_source twin error
repair blkhash-verify-repair-uri="nbd+unix:///?socket=$dir/nothing" \
       blkhash-verify-repair=twin
copies
logged 1 "blkhash-verify-repair-uri: nbd+unix:///?socket=$dir/nothing: "
counted 0 2
end_source

# A server that ends and starts again.
start_source -r file twin
same_socket=$socket
repair
client "" "$reads
right(512, 1048576)"
kill -9 $source
wait_until is_gone $source
client "" "$reads
fails(512, 1114112)
fails(512, 1114112)"
rm -f "$same_socket" "$same_socket.pid"
nbdkit -U "$same_socket" -P "$same_socket.pid" -r file twin
wait_until test -s "$same_socket.pid"
kill_at_exit "$(cat "$same_socket.pid")"
client "" "$reads
right(512, 1114112)"
counted 0 1                     # the last client has read one
kill -9 "$(cat "$same_socket.pid")"

# A server that hangs costs one timeout, whatever the number of bad blocks, and is
# then suspended.  The good blocks are read meanwhile.
start_evil_source twin hold-read reached
repair blkhash-verify-repair-timeout=1
client "" "$reads
fails(131072, 1048576)
fails(65536, 1048576)
fails(512, 1114112)
right(1048576, 0)"
logged 1 "blkhash-verify-repair-uri: $source_uri: no reply in 1 seconds, \
suspended for 60 seconds"
counted 2 0
end_source
for hold in hold-open stopped; do
  if [ $hold = stopped ]; then
    start_source -r file twin
    kill -STOP $source
  else
    start_evil_source twin $hold opened
  fi
  repair blkhash-verify-repair-timeout=1 blkhash-verify-repair=twin
  copies
  logged 1 "blkhash-verify-repair-uri: $source_uri: no reply in 1 seconds"
  counted 0 2
  end_source
done

# While a request waits for a server, others read good blocks; and when nbdkit or
# the client ends, the wait does.  The timeout is much longer than the test.
for end in nbdkit client; do
  rm -f reached
  start_evil_source twin hold-read reached
  repair blkhash-verify-repair-timeout=3600
  client "" "$reads
import threading
other = connect('')
def read_bad():
    try:
        other.pread(65536, 1048576)
    except nbd.Error:
        pass
thread = threading.Thread(target=read_bad, daemon=True)
thread.start()
wait_until(lambda: os.path.exists('reached'))
right(1048576, 0)
right(512, 5242880)
h.shutdown()
if '$end' == 'client':
    os._exit(0)
os.kill($server, 15)
thread.join()
os._exit(0)"
  [ $end = nbdkit ] || wait_until grep -q 'blkhash-verify: close' "$log"
  case $end in
    nbdkit) ended ;;
    client) stop ;;
  esac
  end_source
done

# libnbd is not there, or is not a library, when it is needed: one message, and
# the next source is read.
mkdir stand-in
: > stand-in/libnbd.so.0
start_source -r file twin
wrapper_before=$nbdkit_wrapper
nbdkit_wrapper="env LD_LIBRARY_PATH=$dir/stand-in $nbdkit_wrapper"
repair
client "" "$reads
fails(512, 1048576)
fails(512, 1114112)
right(1048576, 0)"
logged 1 "blkhash-verify-repair-uri: $source_uri: cannot load libnbd: "
counted 2 0
repair blkhash-verify-repair=twin
copies
logged 1 "blkhash-verify-repair-uri: $source_uri: cannot load libnbd: "
counted 0 2
nbdkit_wrapper=$wrapper_before
end_source

# TLS, with a key that the URI names.
if nbdkit --dump-config | grep -q '^tls=yes'; then
  printf 'alice:%s\n' 0123456789abcdef0123456789abcdef > psk
  start_source --tls=require --tls-psk=psk -r file twin
  source_uri="nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk"
  repair
  copies
  counted 0 2
  end_source
fi

# Written to the disk.
start_source -r file twin
repair blkhash-verify-repair-write=true blkhash-verify-repair-limit=100%
copies
stop
cmp "$image" disk || fail "the disk was not repaired"
cmp "$image" twin || fail "the source was written"

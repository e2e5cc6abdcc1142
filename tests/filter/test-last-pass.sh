#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# When the last client has disconnected the rest is read with several reads in
# flight, if reads wait and the thread model is parallel.

. "$(dirname "$0")/../filter-functions.sh"
requires_nbdkit nbd --filter=delay --filter=error --filter=noparallel \
                --filter=rate --filter=retry

truncate -s 24m "$dir/disk"
write_data "$dir/disk" 0 25165824
slow=$dir/slow.sock

# slow FILTERS PARAMETER...: another server of the disk, which the plugin nbd
# reads.
slow () {
  echo "+ nbdkit $*"
  filters=$1
  shift
  nbdkit -U "$slow" -P "$slow.pid" $filters file "$dir/disk" "$@"
  wait_until test -s "$slow.pid"
  kill_at_exit "$(cat "$slow.pid")"
}

end_slow () {
  kill "$(cat "$slow.pid")"
  rm -f "$slow" "$slow.pid"
}

# change ARGUMENT...: serve, and a client that changes a byte.
change () {
  rm -f "$sums"
  serve "$@" blkhash-file="$sums"
  client "" 'h.pwrite(os.urandom(1), 0)'
}

in_flight () {
  grep -q 'blkhash: [0-9]* reads of .* in flight' "$log"
}

slow --filter=delay rdelay=20ms
change nbd socket="$slow"
wait_for_sum "$dir/disk"
in_flight || fail "one read after the other: $(grep blkhash "$log")"
stop

# The signal does not end the reading.
change nbd socket="$slow"
stop
wait_for_sum "$dir/disk"

# With another thread model there is one read at a time.
for other in noparallel retry; do
  change --filter=$other nbd socket="$slow"
  wait_for_sum "$dir/disk"
  ! in_flight || fail "with $other: $(grep blkhash "$log")"
  stop
done
end_slow

slow --filter=rate rate=400M burstiness=0.1
change nbd socket="$slow"
wait_for_sum "$dir/disk"
stop
end_slow

# Some reads fail, and succeed later.
slow "--filter=retry --filter=error" retry-delay=1 error-pread-rate=5%
change nbd socket="$slow"
wait_for_sum "$dir/disk"
stop
end_slow

# All fail.
slow "--filter=delay --filter=error" rdelay=20ms \
     error-pread-rate=100% error-file="$dir/trigger"
touch "$dir/trigger"
change nbd socket="$slow"
wait_for_match '^# unknown -: .* bytes at .* cannot be read: Input/output error$'
rm "$dir/trigger"
client "" 'h.pwrite(os.urandom(1), 65536)'
wait_for_sum "$dir/disk"
stop
end_slow

# Directly below, the wait is aborted, since the client has gone.
for other in "delay rdelay=20ms" "rate rate=80M"; do
  change --filter=${other%% *} file "$dir/disk" "${other#* }"
  stop
  result_matches '^# unknown -: .* cannot be read: ' ||
    has_line "$(sum_line "$(reference "$dir/disk")")" || fail "got $(cat "$sums")"
done

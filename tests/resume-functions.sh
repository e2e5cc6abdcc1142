# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For tests of blksum --resume, after functions.sh: a run that is ended when a
# part of the manifest $dir/m is on the disk, and what the next one does.

# ended SIGNAL ARGUMENT...: run blksum --resume ARGUMENT..., and end it midway.
# What it printed is in $dir/stderr.
ended () {
  signal=$1
  shift
  echo "+ blksum --resume --manifest $dir/m $*, ended by $signal"
  status=0
  midway_on_disk "kill -$signal \$pid" --resume --manifest "$dir/m" "$@" \
    > "$dir/stdout" 2> "$dir/stderr" || status=$?
  [ $status -gt 128 ] || fail "not ended by $signal: $status"
  [ ! -s "$dir/stdout" ] || fail "printed a sum: $*"
}

# midway_on_disk EVENT ARGUMENT...: the same as midway, but EVENT waits for the first
# record of the manifest $dir/m.  One thread has one read in flight, so blocks are read
# in order: else all threads could wait for the event, to report progress, before the
# first block is read.
midway_on_disk () {
  event="while kill -0 \$pid && [ \$(stat -c %s '$dir/m') -lt 600 ]
    do sleep 0.05; done && $1"
  shift
  (export BLKSUM_DEPTH=1 && midway "$event" -t 1 "$@")
}

# resumes SUM ARGUMENT...: it goes on, and reads no more than $much bytes, which
# is less than all, but for the audit.
much=60000000
resumes () {
  wanted_sum=$1
  shift
  keep
  run 0 blksum --output=json --resume --audit 0% --manifest "$dir/m" "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  grep -q "\"checksum\":\"$wanted_sum\"" "$dir/stdout" || fail "not $wanted_sum"
  grep -q '"incremental":true' "$dir/stdout" || fail "not incremental"
  was_read=$(sed 's/.*"read":\([0-9]*\).*/\1/' "$dir/stdout")
  [ "$was_read" -le $much ] || fail "$was_read bytes were read"
  is_finished
  again
  prints_sum "$wanted_sum" blksum --resume --manifest "$dir/m" "$@"
  is_finished
}

# starts_over WHY SUM ARGUMENT...: it says why.
starts_over () {
  why=$1
  wanted_sum=$2
  shift 2
  run 0 blksum --resume --manifest "$dir/m" "$@"
  says_once "$why: starting over"
  [ "$(cut -d' ' -f1 < "$dir/stdout")" = "$wanted_sum" ] ||
    fail "not $wanted_sum"
  is_finished
}

is_finished () {
  cmp "$dir/m" "$dir/expected" || fail "another manifest"
  [ ! -e "$dir/m.state" ] || fail "the state is left behind"
  [ "$(stat -c %a "$dir/m")" = 600 ] || fail "not only the owner's"
  rm "$dir/m"
}

# keep, and later again: what an ended run left, for many tries.
keep () {
  cp "$dir/m" "$dir/kept"
  cp "$dir/m.state" "$dir/kept.state"
}
again () {
  cp "$dir/kept" "$dir/m"
  cp "$dir/kept.state" "$dir/m.state"
}

# make_large_image FILE: 300 MiB, of which 60 MB are data or written zeros.
make_large_image () {
  rm -f "$1"
  truncate -s 300m "$1"
  write_data "$1" 0 20000000
  write_zeros "$1" 40000000 20000000
  write_data "$1" 100000000 20000000
  write_data "$1" 314572000 572
}

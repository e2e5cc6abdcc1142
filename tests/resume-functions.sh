# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by tests of blksum --resume: a run is
# interrupted when the file $dir/m has a part of the manifest, and the next run
# resumes.

# interrupt SIGNAL ARGUMENT...: runs blksum --resume ARGUMENT..., and ends it
# midway.  Its messages are in $dir/stderr.
interrupt () {
  signal=$1
  shift
  echo "+ blksum --resume --manifest $dir/m $*, ended by $signal"
  status=0
  midway_on_disk "kill -$signal \$pid" --resume --manifest "$dir/m" "$@" \
    > "$dir/stdout" 2> "$dir/stderr" || status=$?
  [ $status -gt 128 ] || fail "not ended by $signal: $status"
  [ ! -s "$dir/stdout" ] || fail "printed a sum: $*"
}

# midway_on_disk EVENT ARGUMENT...: like midway, but EVENT runs when the
# manifest $dir/m has its first record.  One thread with one read in flight
# reads the blocks in order.  With more, all threads could wait for EVENT when
# they report progress, before the first block is read.
midway_on_disk () {
  event="while kill -0 \$pid && [ \$(stat -c %s '$dir/m') -lt 600 ]
    do sleep 0.05; done && $1"
  shift
  (export BLKSUM_DEPTH=1 && midway "$event" -t 1 "$@")
}

# resumes SUM ARGUMENT...: the next run resumes, and reads no more than $much
# bytes: not all.  Without --audit 0% it reads a sample, too.
much=60000000
resumes () {
  wanted_sum=$1
  shift
  save_files
  run 0 blksum --output=json --resume --audit 0% --manifest "$dir/m" "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  grep -q "\"checksum\":\"$wanted_sum\"" "$dir/stdout" || fail "not $wanted_sum"
  grep -q '"incremental":true' "$dir/stdout" || fail "not incremental"
  was_read=$(sed 's/.*"read":\([0-9]*\).*/\1/' "$dir/stdout")
  [ "$was_read" -le $much ] || fail "$was_read bytes were read"
  is_complete
  restore_files
  prints_sum "$wanted_sum" blksum --resume --manifest "$dir/m" "$@"
  is_complete
}

# starts_over WHY SUM ARGUMENT...: the next run starts over, and says why.
starts_over () {
  why=$1
  wanted_sum=$2
  shift 2
  run 0 blksum --resume --manifest "$dir/m" "$@"
  says_once "$why: starting over"
  [ "$(cut -d' ' -f1 < "$dir/stdout")" = "$wanted_sum" ] ||
    fail "not $wanted_sum"
  is_complete
}

is_complete () {
  cmp "$dir/m" "$dir/expected" || fail "the manifest differs"
  [ ! -e "$dir/m.state" ] || fail "the state is left behind"
  [ "$(stat -c %a "$dir/m")" = 600 ] || fail "the mode is not 600"
  rm "$dir/m"
}

# save_files: copies the files of an interrupted run.  restore_files: restores
# them for another try.
save_files () {
  cp "$dir/m" "$dir/kept"
  cp "$dir/m.state" "$dir/kept.state"
}
restore_files () {
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

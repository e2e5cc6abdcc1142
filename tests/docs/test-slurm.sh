#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The jobs of examples/slurm hash a disk of 16 GiB in 32 parts on a cluster and
# publish its checksum, although tasks are requeued and killed, two tasks for
# the same part run, and parts are lost and damaged.  Until all parts are
# complete there is no checksum, and the last job reports the reason; the same
# command again hashes only the missing parts.
#
# The cluster is a real Slurm on this host, in namespaces of its own.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/docs/slurm-functions.sh"

[ -z "$wrapper" ] || skip "Slurm does not run in valgrind"
requires_program bash
requires_slurm
if [ "$1" != inside ]; then
  in_namespaces "$0" inside
  exit $status
fi

start_slurm 8
cd "$dir"

# ---- The disk ----

"$PYTHON" - image << 'END'
import random, sys

rng = random.Random(11)
with open(sys.argv[1], "wb") as f:
    f.truncate(16 << 30)
    for part in range(32):
        for stretch in range(5):
            f.seek((part << 29) + (stretch * 100 << 20) + rng.randrange(1 << 20))
            f.write(rng.randbytes(rng.randrange(20000, 300000)))
END
sum=$(reference image)
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write image > expected
prints_sum $sum blksum image

# part INDEX: prints the name of its file.
part () {
  printf 'parts/part-%06d-of-000032.blkm' $1
}

# ---- Events during tasks ----

# add_event INDEX NAME COMMAND: the next task of this index runs COMMAND when
# blkhash has read a part of its input; $pid is the process of blkhash.
mkdir events taken job-bin
add_event () {
  echo "$3" > events/$1-$2
}
cat > job-bin/blkhash << END
#!/bin/sh
PATH=$dir/bin:\$PATH
cd "$dir"
task=\${SLURM_ARRAY_JOB_ID-}_\${SLURM_ARRAY_TASK_ID-}
export task
for event in events/\${SLURM_ARRAY_TASK_ID-none}-*; do
  name=\${event#*/}
  if mv "\$event" taken/ 2> /dev/null; then
    exec "$PYTHON" "$abs_top_srcdir/tests/midway.py" ". taken/\$name" blkhash "\$@"
  fi
done
exec blkhash "\$@"
END
chmod +x job-bin/blkhash

all_events_ran () {
  for event in events/*; do
    [ ! -e "$event" ] || fail "an event did not run: $event"
  done
}

# ---- Jobs ----

scripts=$abs_top_srcdir/examples/slurm

# with_events COMMAND...: tasks that it submits run the blkhash with events.
with_events () {
  PATH=$dir/job-bin:$PATH "$@"
}

# submit: runs the command of a user; sets $array and $merge to its jobs.
submit () {
  run 0 with_events bash "$scripts/hash-disk" image 32 4 parts disk.blkm
  cat stdout
  set -- $(sed -n 's/^array \([0-9]*\), then job \([0-9]*\): see .*/\1 \2/p' \
             stdout)
  [ $# = 2 ] || fail "the output of hash-disk is not understood"
  array=$1 merge=$2
}

submit_merge () {
  run 0 with_events sbatch --parsable "$scripts/merge.sbatch" parts disk.blkm
  merge=$(cat stdout)
}

no_job_is_left () {
  squeue --noheader > queue 2> squeue.log && [ ! -s queue ]
}

# Twice the timeout: there are many jobs.
all_jobs_end () {
  becomes_true no_job_is_left || becomes_true no_job_is_left ||
    slurm_failed "jobs do not end: $(cat queue squeue.log)"
}

# is_in_state STATE EXIT-CODE JOB: Slurm shows this state.
is_in_state () {
  scontrol --oneliner show job $3 > job
  grep -q " JobState=$1 .* ExitCode=$2 " job || slurm_failed "not $1, $2:
$(cat job)
$(cat blkhash-*-$3.log 2>&1)"
}

# merge_failed REGEX...: the log has these errors, and there is no manifest.
merge_failed () {
  cat blkhash-merge-$merge.log
  is_in_state FAILED 2:0 $merge
  [ ! -e disk.blkm ] || fail "there is a manifest"
  for regex; do
    grep -q "^blkhash: .*$regex" blkhash-merge-$merge.log ||
      fail "no error matches '$regex': $(cat blkhash-merge-$merge.log)"
  done
}

merge_succeeded () {
  cat blkhash-merge-$merge.log
  is_in_state COMPLETED 0:0 $merge
  echo "blk-sha256/64k (manifest:disk.blkm) = $sum" |
    diff - blkhash-merge-$merge.log || fail "the sum differs"
  cmp expected disk.blkm || fail "the manifest differs"
}

# all_parts: lists the files of parts with their inodes and times.
all_parts () {
  stat -c '%n %i %z' parts/part*
}

# were_remade INDEX...: exactly these parts differ from those in $dir/before.
were_remade () {
  all_parts | diff before - | sed -n 's/^> \([^ ]*\) .*/\1/p' > anew
  for index; do
    part $index
    echo
  done | diff - anew || fail "not exactly these were made again: $*"
}

# ---- Requeued, killed, twice at once ----

# Slurm itself ends tasks that are requeued or cancelled.
add_event 3 requeue 'scontrol requeue $task; sleep 1000'
add_event 5 kill 'kill -9 $pid'
add_event 11 cancel 'scancel $task; sleep 1000'
here_twice='echo > here-$task; until [ $(ls here-* | wc -l) = 2 ]; do sleep 0.1; done'
add_event 7 first "$here_twice"
add_event 7 second "$here_twice"
add_event 20 kill 'kill -9 $pid $PPID'

submit
run 0 with_events \
  sbatch --parsable --array=7 "$scripts/part.sbatch" image 32 parts
second=$(cat stdout)

# A requeued task starts after the old credential has expired, here after an
# hour.  StartTime must be in a later second than the one in which it was
# revoked.
was_requeued () {
  scontrol --oneliner show job ${array}_3 > job &&
    grep -q " JobState=PENDING .* Restarts=1 " job
}
becomes_true was_requeued || slurm_failed "not requeued: $(cat job)"
run 0 scontrol update JobId=${array}_3 StartTime=now+2
all_jobs_end
all_events_ran

is_in_state COMPLETED 0:0 ${array}_3
is_in_state COMPLETED 0:0 ${array}_7
is_in_state COMPLETED 0:0 ${second}_7
is_in_state FAILED 137:0 ${array}_5
is_in_state CANCELLED ".*" ${array}_11
is_in_state FAILED 0:9 ${array}_20
merge_failed "536870912 bytes at $((5 << 29)) are missing" \
             "536870912 bytes at $((11 << 29)) are missing" \
             "536870912 bytes at $((20 << 29)) are missing"
[ $(ls -A parts | wc -l) = 30 ] || fail "not 30 files: $(ls -A parts)"

# The same command again makes the missing parts.
all_parts > before
submit
all_jobs_end
were_remade 5 11 20
merge_succeeded

# ---- Deleted, damaged ----

rm disk.blkm
printf x | dd of=$(part 17) bs=1 seek=600 conv=notrunc status=none
all_parts > before
submit_merge
all_jobs_end
merge_failed "part-000017-of-000032.blkm: the record at .* has a wrong CRC"
rm $(part 30)
submit_merge
all_jobs_end
merge_failed "536870912 bytes at $((30 << 29)) are missing"
submit
all_jobs_end
were_remade 17 30
merge_succeeded

# ---- Again, when all is complete ----

all_parts > before
submit
all_jobs_end
were_remade
merge_succeeded

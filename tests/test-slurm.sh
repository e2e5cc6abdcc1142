#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The jobs of examples/slurm hash a disk of 16 GiB in 32 parts on a cluster, and
# have its checksum at the end, although tasks are requeued, killed, and run twice
# at once, and although parts get lost and damaged.  Until all is well there is no
# checksum, the last job says why, and the same command again makes only what is
# missing.
#
# The cluster is Slurm itself, on this host, in namespaces of its own.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/slurm-functions.sh"

[ -z "$wrapper" ] || skip "nothing of Slurm is ours to run in valgrind"
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

# part INDEX: its file.
part () {
  printf 'parts/part-%06d-of-000032.blkm' $1
}

# ---- What happens to tasks ----

# happens INDEX NAME COMMAND: in the next task with this index, when blksum has read
# something of the part and not all; it knows blksum as $pid.
mkdir events happened job-bin
happens () {
  echo "$3" > events/$1-$2
}
cat > job-bin/blksum << END
#!/bin/sh
PATH=$dir/bin:\$PATH
cd "$dir"
task=\${SLURM_ARRAY_JOB_ID-}_\${SLURM_ARRAY_TASK_ID-}
export task
for event in events/\${SLURM_ARRAY_TASK_ID-none}-*; do
  name=\${event#*/}
  if mv "\$event" happened/ 2> /dev/null; then
    exec "$PYTHON" "$abs_top_srcdir/tests/midway.py" ". happened/\$name" "\$@"
  fi
done
exec blksum "\$@"
END
chmod +x job-bin/blksum

all_happened () {
  for event in events/*; do
    [ ! -e "$event" ] || fail "did not happen: $event"
  done
}

# ---- Jobs ----

scripts=$abs_top_srcdir/examples/slurm

# with_events COMMAND...: what it submits runs that blksum.
with_events () {
  PATH=$dir/job-bin:$PATH "$@"
}

# submit: the command of a user; $array and $merge are its jobs.
submit () {
  run 0 with_events bash "$scripts/hash-disk" image 32 4 parts disk.blkm
  cat stdout
  set -- $(sed -n 's/^array \([0-9]*\), then job \([0-9]*\): see .*/\1 \2/p' \
             stdout)
  [ $# = 2 ] || fail "what does it say?"
  array=$1 merge=$2
}

submit_merge () {
  run 0 with_events sbatch --parsable "$scripts/merge.sbatch" parts disk.blkm
  merge=$(cat stdout)
}

no_job_is_left () {
  squeue --noheader > queue 2> squeue.log && [ ! -s queue ]
}

# There are many, and they take as long as they take.
all_jobs_end () {
  becomes_true no_job_is_left || becomes_true no_job_is_left ||
    slurm_failed "jobs do not end: $(cat queue squeue.log)"
}

# is_in_state STATE EXIT-CODE JOB
is_in_state () {
  scontrol --oneliner show job $3 > job
  grep -q " JobState=$1 .* ExitCode=$2 " job || slurm_failed "not $1, $2:
$(cat job)
$(cat blksum-*-$3.log 2>&1)"
}

# merge_failed REGEX...: said so, and made nothing.
merge_failed () {
  cat blksum-merge-$merge.log
  is_in_state FAILED 2:0 $merge
  [ ! -e disk.blkm ] || fail "there is a manifest"
  for regex; do
    grep -q "^blksum: .*$regex" blksum-merge-$merge.log ||
      fail "does not say '$regex': $(cat blksum-merge-$merge.log)"
  done
}

merge_succeeded () {
  cat blksum-merge-$merge.log
  is_in_state COMPLETED 0:0 $merge
  echo "blk-sha256/64k (manifest:disk.blkm) = $sum" |
    diff - blksum-merge-$merge.log || fail "another sum"
  cmp expected disk.blkm || fail "another manifest"
}

# all_parts: which files they are.
all_parts () {
  stat -c '%n %i %z' parts/*
}

# made_anew INDEX...: these parts and no others are not those in $dir/before.
made_anew () {
  all_parts | diff before - | sed -n 's/^> \([^ ]*\) .*/\1/p' > anew
  for index; do
    part $index
    echo
  done | diff - anew || fail "not only these were made anew: $*"
}

# ---- Requeued, killed, twice at once ----

# Slurm itself ends what it requeues, and what is cancelled.
happens 3 requeue 'scontrol requeue $task; sleep 1000'
happens 5 kill 'kill -9 $pid'
happens 11 cancel 'scancel $task; sleep 1000'
here_twice='echo > here-$task; until [ $(ls here-* | wc -l) = 2 ]; do sleep 0.1; done'
happens 7 first "$here_twice"
happens 7 second "$here_twice"
happens 20 kill 'kill -9 $pid $PPID'

submit
run 0 with_events \
  sbatch --parsable --array=7 "$scripts/part.sbatch" image 32 parts
second=$(cat stdout)

# What is requeued waits until no credential of before is valid, an hour here.  It
# needs one of a later second than that in which the old one was revoked.
was_requeued () {
  scontrol --oneliner show job ${array}_3 > job &&
    grep -q " JobState=PENDING .* Restarts=1 " job
}
becomes_true was_requeued || slurm_failed "not requeued: $(cat job)"
run 0 scontrol update JobId=${array}_3 StartTime=now+2
all_jobs_end
all_happened

is_in_state COMPLETED 0:0 ${array}_3
is_in_state COMPLETED 0:0 ${array}_7
is_in_state COMPLETED 0:0 ${second}_7
is_in_state FAILED 137:0 ${array}_5
is_in_state CANCELLED ".*" ${array}_11
is_in_state FAILED 0:9 ${array}_20
merge_failed "the 536870912 bytes at $((5 << 29)) are in no part" \
             "the 536870912 bytes at $((11 << 29)) are in no part" \
             "the 536870912 bytes at $((20 << 29)) are in no part"
[ $(ls -A parts | wc -l) = 29 ] || fail "not 29 files: $(ls -A parts)"

# The same command again.
all_parts > before
submit
all_jobs_end
made_anew 5 11 20
merge_succeeded

# ---- Deleted, damaged ----

rm disk.blkm
printf x | dd of=$(part 17) bs=1 seek=600 conv=notrunc status=none
all_parts > before
submit_merge
all_jobs_end
merge_failed "$(part 17): the record at .* has a wrong CRC"
rm $(part 30)
submit_merge
all_jobs_end
merge_failed "the 536870912 bytes at $((30 << 29)) are in no part"
submit
all_jobs_end
made_anew 17 30
merge_succeeded

# ---- Again, for nothing ----

all_parts > before
submit
all_jobs_end
made_anew
merge_succeeded

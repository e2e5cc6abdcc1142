#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --changed reads the lists of other programs: --update makes the same manifest
# with each as with a run over the whole disk.  Unit tests have the details:
# tools/changes/test-formats.c.

. "$(dirname "$0")/functions.sh"
cd "$dir"

size=4194304
truncate -s $size before
write_data before 0 1000000
cp before after
for at in 70000 200000 200001 $((size - 1)); do
  printf '\377' | dd of=after bs=1 seek=$at conv=notrunc status=none
done
blksum --manifest before.blkm before > stdout
blksum --manifest after.blkm after > stdout
last=$((size - 65536))

echo '[{"start": 65536, "length": 65536}, {"start": 196608, "length": 65536},
       {"start": '$last', "length": 65536}]' > blksum
echo '[{"offset": 0, "length": 65536, "type": 0},
       {"offset": 65536, "length": 196608, "type": 1},
       {"offset": 262144, "length": '$((last - 262144))', "type": 0},
       {"offset": '$last', "length": 65536, "type": 1}]' > nbdinfo
echo '[{"offset":65536,"length":65536,"exists":"true"},
       {"offset":196608,"length":65536,"exists":"true"},
       {"offset":'$last',"length":65536,"exists":"false"}]' > rbd
cat > vmware << END1
{"startOffset":0,"length":200000,
 "changedArea":[{"start":70000,"length":1},{"start":190000,"length":10000}]}
{"startOffset":200000,"length":$((size - 200000)),
 "changedArea":[{"start":200000,"length":2},{"start":$last,"length":65536}]}
END1
# The same in an array: a comma between the replies.
(echo '['; sed 's/\]}$/]},/; $s/,$//' vmware; echo ']') > vmware-array
cat > kubernetes << END1
[{"block_metadata_type":1,"volume_capacity_bytes":$size,
  "block_metadata":[{"byte_offset":65536,"size_bytes":65536},
                    {"byte_offset":196608,"size_bytes":65536}]},
 {"block_metadata_type":1,"volume_capacity_bytes":$size,
  "block_metadata":[{"byte_offset":$last,"size_bytes":65536}]}]
END1
blksum --compare --output=mapfile before after > ddrescue || :

# update LIST ARGUMENT...
update () {
  update_list=$1
  shift
  rm -f new
  blksum --update before.blkm --changed "$update_list" --manifest new "$@" after
}

# uses LIST ARGUMENT...: the list is complete, for --update and for --compare.
uses () {
  run 0 update "$@" --audit 100%
  cmp new after.blkm || fail "$*: the manifest differs"
  list=$1
  shift
  run 0 blksum --compare --changed "$list" "$@" manifest:before.blkm \
    manifest:after.blkm
  grep -qx 'All that differs is in the list.' stdout || fail "$list: missed"
}

for format in blksum nbdinfo rbd vmware kubernetes; do
  uses $format
  uses $format --changed-format $format
  # Any other format is refused.
  for other in blksum nbdinfo rbd vmware kubernetes ddrescue; do
    [ $other = $format ] || refuses "'$format': " update $format \
      --changed-format $other
  done
done
uses vmware-array
uses ddrescue --changed-format=ddrescue
refuses "a mapfile of ddrescue needs --changed-format=ddrescue" update ddrescue
refuses "'ddrescue': it is not a list of ranges in JSON" update ddrescue \
        --changed-format=rbd
cat rbd | blksum --update before.blkm --changed - --changed-format rbd \
  --manifest - after | cmp - after.blkm || fail "the list from a pipe differs"

# What ddrescue has copied is no list of changes, if there are other states.
sed 's/?$/-/' ddrescue > rescue
refuses "line 5 has a status that is neither" update rescue \
        --changed-format=ddrescue

# A list of another disk, or that is incomplete.
truncate -s 8m larger
blksum --manifest larger.blkm larger > stdout
for format in nbdinfo vmware kubernetes ddrescue; do
  options=
  [ $format != ddrescue ] || options=--changed-format=ddrescue
  refuses "'$format': .*of" blksum --compare --changed $format $options \
          larger larger
done
sed 's/"startOffset":200000/"startOffset":199999/' vmware > odd
refuses "begins at 199999 instead of 200000" update odd
head -n 2 vmware > odd
refuses "it ends at 200000 of the 4194304 bytes" update odd
head -n 5 ddrescue > odd
refuses "it ends at 65536 of the 4194304 bytes" update odd \
        --changed-format=ddrescue

refuses "'qemu' is none of blksum ddrescue kubernetes nbdinfo rbd vmware" \
        update rbd --changed-format qemu
refuses "needs --changed" blksum --changed-format rbd after
refuses "needs --changed" blksum --update before.blkm --bitmap b \
        --changed-format rbd --manifest new nbd://localhost

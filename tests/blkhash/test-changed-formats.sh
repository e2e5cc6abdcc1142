#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash update makes the same manifest with each list that --changed reads as a
# run over the whole disk, and with the lists that the commands in docs/passes.md
# convert.  These refuse a list that is cut off at any byte, or odd.  Unit tests
# have the details of what it reads: tools/job/test-changes.c.

. "$(dirname "$0")/../functions.sh"
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

run 1 blkhash compare --output=json before after
cp stdout compare
list_changes $size 65536 65536 196608 65536 $last 65536 |
  sed 's/"images":\[\]/"images":[{"name":"before","size":'$size'},\
{"name":"after","size":'$size'}]/' | tr -d '\n' > expected
tr -d '\n' < compare | cmp - expected || fail "another list"
echo '[{"offset": 0, "length": 65536, "type": 0},
       {"offset": 65536, "length": 196608, "type": 1},
       {"offset": 262144, "length": '$((last - 262144))', "type": 0},
       {"offset": '$last', "length": 65536, "type": 1}]' > nbdinfo
blkhash compare --output=mapfile before after > mapfile || :

# update LIST ARGUMENT...
update () {
  update_list=$1
  shift
  rm -f new
  blkhash update --changed "$update_list" --manifest new "$@" before.blkm after
}

for list in compare nbdinfo mapfile; do
  run 0 update $list --audit 100%
  cmp new after.blkm || fail "$list: the manifest differs"
  cat $list | blkhash update before.blkm --changed - --manifest - after |
    cmp - after.blkm || fail "$list: from a pipe it differs"
done

# Several lists: all that one of them contains is read.
list_changes $size 65536 65536 > some
sed "s/^\($(printf '0x%08X' 65536) .*\)+/\1?/" mapfile > others
rm -f new
run 1 update some --audit 100%
says "65536 bytes at 196608 differ from before.blkm; in no list of changes$" \
     "65536 bytes at $last differ from" "no manifest was written"
run 1 update others --audit 100%
for lists in "--changed some --changed others" \
             "--changed others --changed some --changed nbdinfo"; do
  rm -f new
  run 0 blkhash update $lists --audit 100% --manifest new before.blkm after
  cmp new after.blkm || fail "$lists: the manifest differs"
done
refuses "'mapfile.none': cannot open" blkhash update --changed some \
  --changed mapfile.none --manifest new before.blkm after
refuses "standard input can only be one of" sh -c 'blkhash update --changed - \
  --changed - --manifest new before.blkm after < some'

# The list of the manual.
sed -n '/^ \[{"offset"/,/\]$/p' "$abs_top_srcdir/man/blkhash-update.pod" > manual
head -c 1m before > small
cp small small-after
printf '\377' | dd of=small-after bs=1 seek=196607 conv=notrunc status=none
blksum --manifest small.blkm small > stdout
blksum --manifest small-after.blkm small-after > stdout
rm -f new
run 0 blkhash update --changed manual --audit 100% --manifest new small.blkm small-after
cmp new small-after.blkm || fail "the list of the manual: the manifest differs"

# A list of another disk, or that is incomplete.
truncate -s 8m larger
blksum --manifest larger.blkm larger > stdout
update_larger () {
  blkhash update --changed $1 --manifest new larger.blkm larger
}
refuses "'compare': $size bytes were compared, and the image has 8388608" \
        update_larger compare
for list in nbdinfo mapfile; do
  refuses "'$list': it ends at 4194304 of the 8388608 bytes" update_larger $list
done
blkhash compare --part 1/2 --output=json before after > odd || :
refuses "2097152 bytes were compared, and the image has $size: only" update odd
blkhash compare --size 2m --output=json before after > odd || :
refuses "2097152 bytes were compared" update odd
head -c -2 compare > odd
refuses "is truncated" update odd
head -n 5 mapfile > odd
refuses "it ends at 65536 of the 4194304 bytes" update odd

# Mapfiles in which "?" is not what is unchanged.
blkhash compare --part 1/2 --output=mapfile before after > odd || :
refuses "not a mapfile that .* created for the whole disk" update odd
sed '1s/by .*/by GNU ddrescue version 1.27/' mapfile > odd
refuses "in one of ddrescue '+' means copied, not changed, and the two cannot" \
        update odd

refuses "unrecognized option '--changed-format" \
        update mapfile --changed-format ddrescue

# ---- docs/passes.md ----

for program in bash jq; do
  command -v $program > /dev/null ||
    skip "$program is missing (the rest passed)"
done

# block TEXT: the first block of code after a line with TEXT.
block () {
  awk -v text="$1" 'index ($0, text) { found = 1; next }
                    found && /^    /  { print substr ($0, 5); shown = 1; next }
                    shown && /./      { exit }
                    shown             { print }
  ' "$abs_top_srcdir/docs/passes.md"
}

block 'as `changed.jq`' > changed.jq
for name in Ceph VMware Kubernetes; do
  block "**$name**" | sed 's#nbd://localhost#after#; s#/dev/disk#after#' > $name
done
cat > bin/rbd << 'END'
#!/bin/sh
case $1 in
  info) cat rbd-info ;;
  diff) cat rbd-diff; exit $status ;;
  device) echo after ;;
esac
END
cat > bin/snapshot-metadata-lister << 'END'
#!/bin/sh
cat kubernetes
exit $status
END
chmod +x bin/rbd bin/snapshot-metadata-lister
export status

echo '{"name":"disk","size":'$size',"objects":1,"features":["layering"]}' \
  > rbd-info
echo '[{"offset":65536,"length":65536,"exists":"true"},
       {"offset":196608,"length":65536,"exists":"true"},
       {"offset":'$last',"length":65536,"exists":"false"}]' > rbd-diff
cat > areas.json << END1
{"_typeName":"DiskChangeInfo","startOffset":0,"length":200000,"changedArea":[
   {"_typeName":"DiskChangeExtent","start":70000,"length":1},
   {"start":190000,"length":10000}]}
{"startOffset":200000,"length":$((size - 200000)),
 "changedArea":[{"start":200000,"length":2},{"start":$last,"length":65536}]}
END1
cat > kubernetes << END1
[{"block_metadata_type":1,"volume_capacity_bytes":$size,
  "block_metadata":[{"byte_offset":65536,"size_bytes":65536},
                    {"byte_offset":196608,"size_bytes":65536}]},
 {"block_metadata_type":1,"volume_capacity_bytes":$size,
  "block_metadata":[{"byte_offset":$last,"size_bytes":65536}]}]
END1

# converts NAME: its commands make the right manifest.
converts () {
  status=0
  cp before.blkm src.blkm
  run 0 bash "$1"
  cmp src.blkm after.blkm || fail "$1: the manifest differs"
}

# keeps NAME [MESSAGE]: its commands fail, and leave the manifest as it was.
keeps () {
  cp before.blkm src.blkm
  if bash "$1" > stdout 2> stderr; then
    fail "$1: accepted"
  fi
  cmp src.blkm before.blkm || fail "$1: the manifest was changed"
  [ $# = 1 ] || grep -q "$2" stderr || fail "$1: '$2' is not in: $(cat stderr)"
}

for name in Ceph VMware Kubernetes; do
  converts $name
done
(echo '['; sed 's/\]}$/]},/; $s/,$//' areas.json; echo ']') > array
mv areas.json replies
mv array areas.json
converts VMware
head -n 3 replies > areas.json
keeps VMware "it ends at 200000 of the 4194304 bytes"
# A tracker that fails after a list with an end.
status=1
echo '[]' > rbd-diff
keeps Ceph
keeps Kubernetes

"$PYTHON" - << 'END' || fail "see above"
import json
import subprocess

SIZE = 8
good = {
    "rbd": '{"size":8}[{"offset":1,"length":2,"exists":"true"},'
           '{"offset":5,"length":2,"exists":"false"}]\n',
    "vmware": '{"startOffset":0,"length":4,"changedArea":[{"start":1,'
              '"length":2}]}\n{"startOffset":4,"length":4}\n',
    "kubernetes": '[{"block_metadata_type":1,"volume_capacity_bytes":8,'
                  '"block_metadata":[{"size_bytes":1}]},'
                  '{"block_metadata_type":2,"volume_capacity_bytes":8,'
                  '"block_metadata":null}]\n',
}


def convert(name, text):
    """Returns the rows, or None if the program fails and prints nothing."""
    run = subprocess.run(["jq", "-n", "-L.", 'include "changed"; ' + name],
                         input=text, capture_output=True, text=True)
    assert (run.returncode == 0) == (run.stdout != ""), (text, run)
    return json.loads(run.stdout) if run.returncode == 0 else None


def covered(rows):
    end = 0
    for row in rows:
        assert row["offset"] == end and row["length"] > 0, rows
        end += row["length"]
    return end


for name, text in good.items():
    full = convert(name, text)
    assert full and covered(full) == SIZE, (name, full)
    assert any(row["type"] for row in full), full
    for cut in range(len(text)):
        rows = convert(name, text[:cut])
        # Else blkhash sees that the last reply is missing.
        if rows is not None and not (name == "vmware" and covered(rows) < SIZE):
            assert rows == full and not text[cut:].strip(), (name, text[:cut])

RECORD = '{"block_metadata_type":%s,"volume_capacity_bytes":%s,' \
         '"block_metadata":[%s]}'
for name, text in (
        ("rbd", "[]"), ("rbd", '{"size":8}{}'), ("rbd", '{"size":8}{"size":8}'),
        ("rbd", '{"size":8}[][]'), ("rbd", '{"objects":8}[]'),
        ("rbd", '{"size":0}[]'),
        ("rbd", '{"size":7}' + good["rbd"][10:].replace("5", "6")),
        *(("rbd", good["rbd"].replace(*change)) for change in (
            ('"offset":5', '"offset":2'), ('"offset":5', '"offset":0'),
            ('"offset":5', '"offset":7'), ('"length":2', '"length":0'),
            ('"length":2', '"length":1.5'), ('"offset":1', '"offset":-1'),
            ('"offset":1', '"offset":"1"'), ('"offset":1', '"start":1'),
            ('"offset":1', '"offset":1,"type":1'), ('"false"', 'false'),
            ('8', '9007199254740993'))),
        ("vmware", "[]"), ("vmware", "{}"), ("vmware", "[[]]"),
        *(("vmware", good["vmware"].replace(*change)) for change in (
            ('Offset":4', 'Offset":5'), ('Offset":4', 'Offset":3'),
            ('Offset":0', 'Offset":1'), ('"start":1', '"start":3'),
            ('4}\n', '4,"changedArea":[{"start":3,"length":1}]}'),
            ('4}\n', '4,"changedArea":null}'), ('4}\n', '4,"changedArea":{}}'),
            ('4}\n', '0}'),
            ('4}\n', '4,"x":1}'), ('4}\n', '4,"_typeName":"x"}'),
            ('"start":1', '"start":1,"_typeName":"x"'))),
        ("kubernetes", "[]"), ("kubernetes", "{}"),
        ("kubernetes", good["kubernetes"] * 2),
        ("kubernetes",
         good["kubernetes"].replace(',"block_metadata":null', "")),
        ("kubernetes",
         good["kubernetes"].replace('"block_metadata":null', '"block_metadata":{}')),
        *(("kubernetes", "[" + RECORD % record + "]") for record in (
            (0, 8, ""), (1, '"8"', ""), (1, 0, ""), (1, 8, '{"byte_offset":1}'),
            (1, 8, '{"byte_offset":8,"size_bytes":1}'),
            (1, 8, '{"size_bytes":2},{"size_bytes":1,"byte_offset":1}'),
            (1, 8, '{"size_bytes":1,"start":0}'))),
        ("kubernetes", "[%s,%s]" % (RECORD % (1, 8, ""), RECORD % (1, 9, "")))):
    assert convert(name, text) is None, (name, text)
END

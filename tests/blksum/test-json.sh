#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --output=json: one object per line with all keys, which is valid for any name.

. "$(dirname "$0")/../functions.sh"

make_image "$dir/image"
mkdir "$dir/names"
cd "$dir/names"
for name in plain 'back\slash' 'a
b' "$(printf 'cr\r')" 'café' "$(printf 'caf\351')" "$(printf '\001\037"')" \
  "$(printf '\355\240\200 \300\200 \364\220\200\200')" '-x'; do
  cp "$dir/image" "./$name" || continue
done

cat > "$dir/check.py" << 'END'
# check.py FORMAT SUM MISSING-KEYS < JSON
import json, sys
want_format, want_sum, extra = sys.argv[1:]
keys = ["name", "sum", "format", "size", "data-bytes", "zero-bytes",
        "hole-bytes", "seconds", "result"]
text = sys.stdin.buffer.read().decode("utf-8")   # strict
lines = text.split("\n")
assert lines.pop() == "", "no newline at the end"
for line in lines:
    result = json.loads(line)
    print(result)
    expected = set(keys) ^ set(extra.split())
    assert set(result) == expected, set(result) ^ expected
    assert result["sum"] == want_sum
    assert result["result"] == "ok"
    assert result["format"] == want_format
    assert result["size"] == 8 << 20
    assert result["size"] == (result["data-bytes"] + result["zero-bytes"] +
                              result["hole-bytes"])
    assert 1500000 < result["data-bytes"] <= 2 << 20
    assert isinstance(result["seconds"], float) and result["seconds"] >= 0
END

# describes FORMAT SUM MISSING-KEYS COUNT COMMAND: COMMAND prints COUNT such
# objects.
describes () {
  args="$1 $2"
  extra=$3
  count=$4
  shift 4
  run 0 "$@"
  "$PYTHON" "$dir/check.py" $args "$extra" < "$dir/stdout" ||
    fail "wrong object by $*"
  [ "$(wc -l < "$dir/stdout")" = "$count" ] || fail "not $count objects"
}

hex=$(reference "$dir/image")
sum=blk-sha256/64k:$hex
describes raw $sum "" "$(ls -b | wc -l)" blksum --output=json -- *
describes raw $sum name 1 blksum --output=json --no-names "$dir/image"
for spec in md5/4k/s64 sha256/64k/linear; do
  describes raw "blk-$spec:$(reference $(of_spec $spec) "$dir/image")" "" 1 \
            blksum --output=json -d $spec "$dir/image"
done
describes raw $sum "" 1 sh -c 'cat "$1" | blksum --output=json' - "$dir/image"
describes raw $sum "" 1 sh -c 'blksum --output=json < "$1"' - "$dir/image"

# UTF-8 in names is not changed; other bytes become U+FFFD.
blksum --output=json -- 'café' 'a
b' "$(printf 'caf\351')" > "$dir/stdout"
"$PYTHON" - "$dir/stdout" << 'END' || fail "the names differ"
import json, sys
names = [json.loads(line)["name"] for line in open(sys.argv[1], encoding="utf-8")]
assert names == ["caf\u00e9", "a\nb", "caf\ufffd"], names
END

# The digest "null" has an empty sum.
blksum --output=json -d null "$dir/image" |
  grep -q '"sum":"blk-null/64k:",' || fail "the sum of null is not empty"

# An empty image.
: > "$dir/empty"
blksum --output=json "$dir/empty" | grep -q '"size":0,"data-bytes":0,' ||
  fail "the object of an empty image"

# With -z, NUL terminates objects.
blksum -z --output=json "$dir/image" "$dir/image" > "$dir/stdout"
[ "$(tr -dc '\0' < "$dir/stdout" | wc -c)" = 2 ] || fail "no NUL at the end"

# An error in the command line has no object.
for command in "blksum image --none" "blksum image -d none" "blksum image --check --tag" \
    "blksum image --expect x" "blkhash compare image" "blkhash update image" \
    "blkhash parts image" "blkhash merge" "blkhash repair image" "blkhash export m" \
    "blkhash none"; do
  refuses "" $command --output=json
done

# ---- Other modes ----

# prints STATUS OBJECT... -- COMMAND: COMMAND prints these lines.
prints () {
  wanted=$1
  shift
  : > "$dir/expected"
  while [ "$1" != -- ]; do
    echo "$1" >> "$dir/expected"
    shift
  done
  shift
  run $wanted "$@"
  diff -u "$dir/expected" "$dir/stdout" || fail "other objects by $*"
}

cd "$dir"
cp image bad
write_data bad 5242881 1
bad=blk-sha256/64k:$(reference bad)
enoent='"error":"cannot open: No such file or directory","result":"unknown"'
ok='{"name":"image","sum":"'$sum'","expected":"'$sum'","result":"ok"}'
differs='{"name":"bad","sum":"'$bad'","expected":"'$sum'","result":"differs"}'
blksum --manifest image.blkm image > sum
cat sum - > list << END
$hex  bad
# unknown cut: a reason
# differs wrong: 65536 bytes
$hex  gone
END

prints 2 '{"name":"gone",'"$enoent}" -- blksum --output=json gone
prints 1 "$ok" "$differs" \
       '{"name":"cut","error":"unknown: a reason","result":"unknown"}' \
       '{"name":"wrong","error":"differs: 65536 bytes","result":"differs"}' \
       '{"name":"gone",'"$enoent}" -- blksum --check --output=json list
prints 1 "$differs" -- sh -c 'blksum --check --quiet --output=json list |
                              head -n 1; exit 1'
prints 1 -- blksum --check --status --output=json list
# A list, or a line of it, that makes the check fail has an object, too.
prints 2 '{"name":"gone",'"$enoent}" "$ok" -- \
       blksum --check --output=json gone sum
printf '%s\n' "${hex#?}" text | cat sum - > damaged
line=': improperly formatted checksum line'
short='{"name":"damaged","error":"2'"$line: it has no name"'","result":"unknown"}'
prints 2 "$ok" "$short" -- blksum --check --output=json damaged
prints 2 "$ok" "$short" '{"name":"damaged","error":"3'"$line"'","result":"unknown"}' -- \
       blksum --check --output=json --strict damaged
prints 2 '{"name":"text","error":"no properly formatted checksum lines found","result":"unknown"}' -- \
       sh -c 'echo text > text && blksum --check --output=json text'
prints 2 -- blksum --check --status --output=json damaged gone
prints 0 "$ok" -- blksum --expect "$hex" --output=json image
prints 1 "$differs" -- blksum --expect "$hex" --output=json bad
prints 0 -- blksum --expect "$hex" --output=json --quiet image
prints 2 '{"name":"gone",'"$enoent}" -- \
       blksum --expect "$hex" --output=json gone
prints 2 '{"name":"image","error":"'\''manifest:gone'\'': cannot open: No such file or directory","result":"unknown"}' -- \
       blksum --expect manifest:gone --output=json image
prints 1 '{"name":"bad","part":"1/2","compared-bytes":4194304,"error":"65536 bytes at 5242880 differ; '"'blkhash compare'"' prints all ranges","result":"differs"}' -- \
       blksum --expect manifest:image.blkm --part 1/2 --output=json bad
prints 0 '{"name":"bad","part":"0/2","compared-bytes":4194304,"result":"ok"}' -- \
       blksum --expect manifest:image.blkm --part 0/2 --output=json bad

cp image.blkm bad.blkm
echo "$hex  bad" > part
prints 1 '{"name":"bad","part":"1/2","compared-bytes":4194304,"error":"65536 bytes at 5242880 differ; '"'blkhash compare'"' prints all ranges","result":"differs"}' -- \
       blksum --check --part 1/2 --output=json part
blksum manifest:image.blkm > part
prints 0 '{"name":"manifest:image.blkm","sum":"'$sum'","expected":"'$sum'","result":"ok"}' -- \
       blksum --check --part 1/2 --output=json part

range='{"start":5242880,"length":65536,"result":"differs"}'
images='"images":[{"name":"image","size":8388608},{"name":"bad","size":8388608}]'
prints 1 '{"ranges":['"$range],$images"',"compared-bytes":8388608,"result":"differs"}' -- \
       blkhash compare --output=json image bad
prints 0 '{"ranges":[],'"$images"',"part":"0/2","compared-bytes":4194304,"result":"ok"}' -- \
       blkhash compare --output=json --part 0/2 image bad
prints 2 '{"name":"gone",'"$enoent}" -- blkhash compare --output=json image gone

prints 2 '{"name":"manifest:m","error":"'\''gone'\'': cannot open: No such file or directory","result":"unknown"}' -- \
       blkhash merge --manifest m --output=json gone

# A write error is one in each mode.
if [ -c /dev/full ]; then
  for command in "blksum" "blksum --check" "blksum --expect $hex"; do
    status=0
    $command --output=json gone > /dev/full 2> /dev/null || status=$?
    [ $status = 2 ] || fail "exit status $status of $command to /dev/full"
  done
fi

requires_qemu
for format in qcow2 vmdk vdi vhdx; do
  qemu-img convert -f raw -O $format "$dir/image" "$dir/other"
  describes $format $sum "" 1 blksum --output=json "$dir/other"
  describes $format $sum "" 1 blksum --output=json -f $format "$dir/other"
done
requires_nbdkit file
start_nbdkit file "$dir/image"
describes nbd $sum "" 1 blksum --output=json "$uri"

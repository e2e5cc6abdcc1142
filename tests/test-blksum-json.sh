#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --output=json: one object per line with all keys, which is valid for any name.

. "$(dirname "$0")/functions.sh"

make_image "$dir/image"
mkdir "$dir/names"
cd "$dir/names"
for name in plain 'back\slash' 'a
b' "$(printf 'cr\r')" 'café' "$(printf 'caf\351')" "$(printf '\001\037"')" \
  "$(printf '\355\240\200 \300\200 \364\220\200\200')" '-x'; do
  cp "$dir/image" "./$name" || continue
done

cat > "$dir/check.py" << 'END'
# check.py FORMAT SUM EXTRA-KEYS < JSON
import json, sys
want_format, want_sum, extra = sys.argv[1:]
keys = ["name", "checksum", "digest", "block-size", "construction", "format",
        "size", "data-bytes", "zero-bytes", "hole-bytes", "seconds"]
text = sys.stdin.buffer.read().decode("utf-8")   # strict
lines = text.split("\n")
assert lines.pop() == "", "no newline at the end"
for line in lines:
    result = json.loads(line)
    print(result)
    expected = set(keys) ^ set(extra.split())
    assert set(result) == expected, set(result) ^ expected
    assert result["checksum"] == want_sum
    assert result["format"] == want_format
    assert result["size"] == 8 << 20
    assert result["size"] == (result["data-bytes"] + result["zero-bytes"] +
                              result["hole-bytes"])
    assert 1500000 < result["data-bytes"] <= 2 << 20
    assert isinstance(result["seconds"], float) and result["seconds"] >= 0
    assert result["construction"] == ("streams" if "streams" in result
                                      else "flat")
END

# describes FORMAT SUM EXTRA-KEYS COUNT COMMAND: COMMAND prints COUNT such
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

sum=$(reference "$dir/image")
describes raw $sum "" "$(ls -b | wc -l)" blksum --output=json -- *
describes raw $sum name 1 blksum --output=json --no-names "$dir/image"
describes raw "$(reference -s 64 "$dir/image")" streams 1 \
          blksum --output=json -d sha256/64k/s64 "$dir/image"
run 0 blksum --output=json -d sha256/64k/linear "$dir/image"
grep -q '"checksum":"'"$(reference --linear "$dir/image")"'".*"construction":"linear","format"' "$dir/stdout" ||
  fail "the construction is not linear"
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
  grep -q '"checksum":"","digest":"null"' || fail "the sum of null is not empty"

# An empty image.
: > "$dir/empty"
blksum --output=json "$dir/empty" | grep -q '"size":0,"data-bytes":0,' ||
  fail "the object of an empty image"

# With -z, NUL terminates objects.
blksum -z --output=json "$dir/image" "$dir/image" > "$dir/stdout"
[ "$(tr -dc '\0' < "$dir/stdout" | wc -c)" = 2 ] || fail "no NUL at the end"

requires_qemu
for format in qcow2 vmdk vdi vhdx; do
  qemu-img convert -f raw -O $format "$dir/image" "$dir/other"
  describes $format $sum "" 1 blksum --output=json "$dir/other"
  describes $format $sum "" 1 blksum --output=json -f $format "$dir/other"
done
requires_nbdkit file
start_nbdkit file "$dir/image"
describes nbd $sum "" 1 blksum --output=json "$uri"

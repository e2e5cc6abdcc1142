#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare prints differences as it finds them, for any number of them.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

# Every other block of 4 bytes differs: 1.5 million ranges.  The short form has a
# quarter of them where memory is not measured.
pairs=1572864
is_long || ! is_instrumented || pairs=393216
"$PYTHON" - $pairs << 'END'
import sys
blocks = 2 * int(sys.argv[1])
with open("a", "wb") as f:
    f.write(b"1234" * blocks)
with open("b", "wb") as f:
    f.write(b"1234abcd" * (blocks // 2))
END

# Memory is bounded: 1.5 million ranges of 16 bytes would take 24 MiB.
cat > compare.py << 'END'
import os, resource, sys
lines = 0
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    os.dup2(write, 1)
    os.close(read)
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(write)
with os.fdopen(read) as out:
    for i, line in enumerate(out):
        assert line == "4 bytes at %u differ\n" % (8 * i + 4), line
        lines += 1
_, status, usage = os.wait4(pid, 0)
assert lines == int(sys.argv[1]), lines
assert os.waitstatus_to_exitcode(status) == 1, status
print(usage.ru_maxrss // 1024)
END
run 0 "$PYTHON" compare.py $pairs $wrapper \
  "$(real_program "$BLKHASH")" compare -t 2 -d sha256/4 a b
peak=$(cat "$dir/stdout")
echo "$peak MiB"
if [ "$(uname)" = Linux ] && [ -z "$wrapper" ] && [ "$SANITIZE" = no ]; then
  [ "$peak" -le 24 ] || fail "peak memory of $peak MiB"
fi

# As JSON.
run 1 blkhash compare -d sha256/4 --output=json a b
"$PYTHON" - stdout $pairs << 'END'
import json, sys
found = json.load(open(sys.argv[1]))
pairs = int(sys.argv[2])
assert found["ranges"] == [{"start": 8 * i + 4, "length": 4, "result": "differs"}
                           for i in range(pairs)]
END

# blkhash compare ends early if its output has no reader, or cannot be written.
blkhash compare -d sha256/4 a b | head -n 1 > first
[ "$(cat first)" = "4 bytes at 4 differ" ] || fail "the first line differs"
run 2 sh -c '"$@" > /dev/full' -- blkhash compare -d sha256/4 a b
says_once "write error: No space left on device"
run 2 sh -c '"$@" > /dev/full' -- blkhash compare -d sha256/4m a b
says_once "write error: No space left on device"

# A comparison that fails has printed the differences before; the output must
# not look complete.
blksum -b 4 --manifest b.blkm b > stdout
head -c $((pairs * 13)) b.blkm > cut.blkm
run 2 blkhash compare a manifest:cut.blkm
says_once "cut.blkm: the manifest is cut off"
[ "$(head -n 1 stdout)" = "4 bytes at 4 differ" ] || fail "no line"
run 2 blkhash compare --output=json a manifest:cut.blkm
says_once "cut.blkm: the manifest is cut off"
if "$PYTHON" -c 'import json; json.load(open("stdout"))' 2> stderr; then
  fail "complete JSON of a comparison that failed"
fi

# Zeros are compared without hashing: that would take half an hour.
truncate -s 8t c 2> stderr || exit 0
truncate -s 8t d
printf x | dd of=d bs=1 seek=6442450944 conv=notrunc status=none
run 1 blkhash compare -d sha256/512 --output=json c d
grep -q '^{"ranges":\[{"start":6442450944,"length":512,[^{]*}\],' stdout ||
  fail "the difference is at another offset"

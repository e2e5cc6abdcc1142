#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --progress=FD prints lines N/100 that increase, from 0 to 100 if there is a
# sum.  A bar is printed only on a terminal, and is as wide as the terminal.  On
# SIGUSR1 a line of progress is printed.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

make_image "$dir/image"
sum=$(reference "$dir/image")

# check_lines LAST: checks $dir/lines.
check_lines () {
  [ "$(head -n 1 "$dir/lines")" = 0/100 ] || fail "does not start at 0/100"
  [ "$(tail -n 1 "$dir/lines")" = "$1" ] || fail "does not end with $1"
  [ -z "$(grep -vx '[0-9]*/100' "$dir/lines")" ] || fail "not only N/100"
  sort -t/ -n -u "$dir/lines" | cmp - "$dir/lines" || fail "does not increase"
}

with_fd3 () { "$@" 3> "$dir/lines"; }
prints_sum "$sum" with_fd3 blksum --progress=3 "$dir/image"
check_lines 100/100
[ "$(wc -l < "$dir/lines")" -gt 3 ] || fail "no lines in between"
prints_sum "$sum" with_fd3 blksum --progress=3 -t 1 --no-extents "$dir/image"
check_lines 100/100

# An empty image ends with 100/100, a source that fails does not.
: > "$dir/empty"
run 0 with_fd3 blksum --progress=3 "$dir/empty"
[ "$(tail -n 1 "$dir/lines")" = 100/100 ] ||
  fail "no 100/100 for an empty image"
run 2 with_fd3 blksum --progress=3 "$dir/missing"
if grep -q 100/100 "$dir/lines"; then
  fail "100/100 for a source that failed"
fi

# Without a terminal there is no bar.  A descriptor that cannot be written is
# ignored; one that is closed is an error, because the next file would get its
# number.
prints_sum "$sum" blksum -p "$dir/image"
refuses "descriptor 9 is not open" blksum --progress=9 "$dir/image"
to_full () { "$@" 3> /dev/full; }
prints_sum "$sum" to_full blksum --progress=3 "$dir/image"

# Blocks that are trusted are hashed too, but not read.
truncate -s 64g "$dir/large"
large_sum=$(blksum --manifest "$dir/old" "$dir/large" | cut -d' ' -f1)
list_changes 68719476736 > "$dir/changes"
prints_sum "$large_sum" with_fd3 blkhash update --progress=3 --audit 0% \
  --changed "$dir/changes" --manifest "$dir/new" "$dir/old" "$dir/large"
check_lines 100/100
[ "$(wc -l < "$dir/lines")" -gt 3 ] || fail "no lines in between"

# A terminal gets a bar, which is erased at the end.
cat > "$dir/drawn.py" << 'END'
import os, pty, subprocess


def drawn(*command):
    """Of a program on a terminal: exit status, what it printed, what it drew."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*command, "-p"], stderr=theirs,
                               stdout=subprocess.PIPE)
    os.close(theirs)
    text = b""
    try:
        while True:
            text += os.read(ours, 65536)
    except OSError:
        pass
    return process.wait(), process.stdout.read(), text
END
PYTHONPATH=$dir "$PYTHON" - "$dir/image" "$sum" << 'END' || fail "the bar"
import sys
from drawn import drawn
status, out, text = drawn("blksum", sys.argv[1])
assert status == 0
assert out.split()[0].decode() == sys.argv[2]
assert text.startswith(b"\r["), text
assert text.endswith(b"\r\033[K"), text
assert b"0%" in text and b"#" in text, text
END

# For a pipe a descriptor gets only the last line.
from_pipe () { cat "$dir/image" | "$@" 3> "$dir/lines"; }
prints_sum "$sum" from_pipe blksum --progress=3
[ "$(cat "$dir/lines")" = 100/100 ] || fail "not only 100/100 for a pipe"

# A line about bad blocks is printed while the bar is hidden, and the bar is
# erased after the last line too.
if can_repair; then
  make_good "$dir/good"
  blksum --manifest "$dir/good.blkm" "$dir/good" > "$dir/stdout"
  cp "$dir/good" "$dir/disk"
  damage "$dir/disk" 3 64
  cp "$dir/disk" "$dir/twin"
  PYTHONPATH=$dir "$PYTHON" - "$dir/good.blkm" "$dir/twin" "$dir/disk" \
    << 'END' ||
import sys
from drawn import drawn
manifest, twin, disk = sys.argv[1:]
status, out, text = drawn("blkhash", "repair", "--manifest", manifest, "--sum",
                          "none", "--limit", "100%", "--from", twin, disk)
assert status == 1, (status, text)
assert text.startswith(b"\r["), text
assert text.count(b"\r\033[Kblkhash: %s: " % disk.encode()) == 2, text
assert text.endswith(b"\r\033[K"), text
END
    fail "the bar of a repair"
fi

# Layout of the bar.
cat > "$dir/terminal.py" << 'END'
"""blksum on a terminal, whose width is ours to say."""
import fcntl, os, pty, re, select, struct, subprocess, termios

LIMIT = 120                     # timeout in seconds, far above a passing run
NARROW = 1, 2, 4, 5, 6, 9, 10, 11, 12, 13, 16, 20, 28


class Terminal:
    def __init__(self, columns, *args, **kwargs):
        self.ours, theirs = pty.openpty()
        self.resize(columns)
        self.text = b""
        self.process = subprocess.Popen(["blksum", "-p", *args],
                                        stderr=theirs, stdout=subprocess.PIPE,
                                        **kwargs)
        os.close(theirs)

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, seconds=LIMIT):
        """More of what it draws: False at the end, None if nothing came."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return None
        try:
            data = os.read(self.ours, 65536)
        except OSError:
            return False
        self.text += data
        return bool(data)

    def until(self, found):
        while not found(self.lines()):
            assert self.read(), ("never drawn", self.text)

    def end(self):
        """All that it drew, a line each time, and what it printed."""
        while self.read():
            pass
        out = self.process.communicate()[0]
        assert self.process.returncode == 0, self.text
        assert self.text.endswith(b"\r\033[K"), self.text
        assert b"\n" not in self.text, self.text
        return self.lines(), out.decode(errors="surrogateescape")

    def lines(self):
        drawn = self.text.split(b"\r")[1:]
        return [line[:-3].decode(errors="surrogateescape") for line in drawn
                if line.endswith(b"\033[K") and len(line) > 3]


def run(columns, *args):
    return Terminal(columns, *args).end()
END
shape () {
  echo "+ terminal: $1"
  PYTHONPATH=$dir "$PYTHON" - "$dir" "$sum" > "$dir/stdout" 2> "$dir/stderr" \
    || fail "$1"
}

cp "$dir/image" "$dir/other"
shape "the width" << 'END'
import re, sys
from terminal import NARROW, run
image, total = sys.argv[1] + "/image", sys.argv[2]
for columns, width in (40, 39), (100, 99), (333, 332), (0, 79):
    lines, out = run(columns, image)
    assert out.split()[0] == total
    assert len(lines) > 1, lines
    for line in lines:
        assert len(line) == width, (columns, line)
        # A fast run shows no rate, but a busy machine is slow.
        bar, percent = re.fullmatch(r"\[(#* *)\] +(\d+)%( [\d.]+ .*)?",
                                    line).group(1, 2)
        assert bar.count("#") == len(bar) * int(percent) // 100, line
# In a terminal of any width no line is wrapped.
for columns in NARROW:
    lines, out = run(columns, image)
    assert all(len(line) < columns for line in lines), (columns, lines)
    assert columns < 5 or lines[0].endswith("  0%"), (columns, lines)
END

# Each of several operands is shown with its name; of a long name the end.
mkdir "$dir/long"
long=$dir/long/$(printf '%0150d' 0)the-end
cp "$dir/image" "$long"
cp "$dir/image" "$dir/$(printf 'esc\033[2J\302\2332J\351.')"
cp "$dir/image" "$dir/$(printf '\346\227\245\346\234\254')"
shape "the names" << 'END'
import glob, os, sys
from terminal import NARROW, run
os.chdir(sys.argv[1])
long, = glob.glob("long/*")
esc, = glob.glob("esc*")
lines, out = run(60, "image", "other", long, esc, "\u65e5\u672c")
assert out.count(sys.argv[2]) == 5
# The name has half of the line.
names = ["image", "other", "..." + long[-23:], "esc?[2J?2J?.", "\u65e5\u672c"]
for line in lines:
    name, bar = line.split(" [")
    wide = name.count("\u65e5") + name.count("\u672c")
    assert len(line) + wide == 59, line
    if name != names[0]:
        del names[0]
    assert name == names[0], (name, names)
assert len(names) == 1, names
for columns in NARROW:
    lines, out = run(columns, "image", "other")
    assert all(len(line) < columns for line in lines), (columns, lines)
END

# The size of a pipe is unknown: the bytes that were read and the rate are
# shown.
shape "a pipe" << 'END'
import re, subprocess, sys
from terminal import NARROW, Terminal
terminal = Terminal(50, stdin=subprocess.PIPE)
terminal.until(lambda lines: "0 B, 0 B/s" in lines)
def is_read(lines):
    return any(re.fullmatch(r"[1-9][\d.]* [KMGT]iB, [1-9][\d.]* ([KMGT]i)?B/s",
                            line) for line in lines)
while not is_read(terminal.lines()):    # it is updated at intervals
    terminal.process.stdin.write(bytes(1 << 20))
    terminal.read(0)
terminal.process.stdin.close()
terminal.process.stdin = None
lines, out = terminal.end()
assert all(len(line) < 50 for line in lines), lines
for columns in NARROW:
    terminal = Terminal(columns, stdin=subprocess.PIPE)
    terminal.process.stdin.close()
    terminal.process.stdin = None
    lines, out = terminal.end()
    assert all(len(line) < columns for line in lines), (columns, lines)
END

requires_nbdkit file eval

# The width of the terminal changes midway.
start_nbdkit eval get_size='echo 8m' can_extents='exit 3' \
  pread='while [ $4 -ge 4194304 ] && ! [ -e '"'$dir/go'"' ] &&
               [ -d '"'$dir'"' ]; do sleep 0.1; done
         head -c $3 /dev/zero'
printf %s "$uri" > "$dir/uri"
truncate -s 8m "$dir/zeros"
sum=$(reference "$dir/zeros")
shape "another width" << 'END'
import sys
from terminal import Terminal
uri = open(sys.argv[1] + "/uri").read()
terminal = Terminal(100, "--read-size=512k", uri)
terminal.until(lambda lines: len(lines) > 1)
assert {len(line) for line in terminal.lines()} == {99}, terminal.lines()
terminal.resize(40)
open(sys.argv[1] + "/go", "w").close()
lines, out = terminal.end()
assert out.split()[0] == sys.argv[2]
assert {len(line) for line in lines} == {99, 39}, lines
assert len(lines[-1]) == 39, lines
END

# A slower run shows the rate and the remaining time if there is room.
start_nbdkit eval get_size='echo 8m' can_extents='exit 3' \
  pread='[ -e '"'$dir/fast'"' ] || sleep 0.1; head -c $3 /dev/zero'
printf %s "$uri" > "$dir/uri"
shape "the rate" << 'END'
import re, sys
from terminal import Terminal
uri = open(sys.argv[1] + "/uri").read()
terminal = Terminal(80, "--read-size=64k", "--queue-depth=1", "-t", "1", uri)
RATE = r"\[#* *\] +\d+% [\d.]+ ([KMGT]i)?B/s, (\d+:)?\d+:\d\d left *"
terminal.until(lambda lines: any(re.fullmatch(RATE, line) for line in lines))
terminal.resize(30)
drawn = len(terminal.lines())
terminal.until(lambda lines: len(lines) > drawn + 1)
open(sys.argv[1] + "/fast", "w").close()
lines, out = terminal.end()
assert out.split()[0] == sys.argv[2]
assert {len(line) for line in lines} == {79, 29}, lines
assert all("left" not in line for line in lines if len(line) == 29), lines
END

line='blksum: [0-9.]* [KM]iB of 8.0 MiB ([0-9]*%) done, [0-9.]* [KMG]*i*B/s'
# asks COMMAND...: each SIGUSR1 is answered by a line, while COMMAND waits for
# $dir/go.
asks () {
  rm -f "$dir/go" "$dir/lines" "$dir/stderr"
  start_nbdkit eval get_size='echo 8m' can_extents='exit 3' \
    pread='while [ $4 -ge 4194304 ] && ! [ -e '"'$dir/go'"' ] &&
                 [ -d '"'$dir'"' ]; do sleep 0.1; done
           head -c $3 /dev/zero'
  echo "+ $* $uri, and SIGUSR1"
  "$@" "$uri" > "$dir/stdout" 2>> "$dir/stderr" 3> "$dir/lines" &
  pid=$!
  kill_at_exit $pid
  wait_until test -s "$dir/lines" # the signal has its handler now
  wait_until answers
  wait_until says_more
  touch "$dir/go"
  wait $pid || fail "exit status $?"
}
answers () {
  before=$(wc -l < "$dir/stderr")
  kill -USR1 $pid || fail "blksum ended"
  sleep 0.1
  [ "$(wc -l < "$dir/stderr")" -gt "$before" ]
}
# The first half was read, the second one is held.
says_more () {
  answers && tail -n 1 "$dir/stderr" | grep -q -x "$line.*"
}
asks blksum --progress=3 --read-size=512k
grep -q -x "$sum  $uri" "$dir/stdout" || fail "the sum differs"
if grep -v -x -e "$line, [0-9]*:[0-9][0-9]:[0-9][0-9] left" \
        -e "blksum: 0 B of 8.0 MiB (0%) done, 0 B/s" "$dir/stderr"; then
  fail "an unexpected line"
fi

# Also while the sum cannot be written, and for one small file.  Not in valgrind,
# which blocks signals itself, so is_blocked would be true before blksum runs.
truncate -s 1m "$dir/small"
blksum "$dir/small" > "$dir/sums"
cat > "$dir/ask.py" << 'END'
import fcntl, os, re, signal, subprocess, sys, time

r, w = os.pipe()
size = fcntl.fcntl(w, 1031, 4096)  # F_SETPIPE_SZ, missing in Python 3.9
os.write(w, b"x" * size)
messages, err = os.pipe()
os.set_blocking(messages, False)
p = subprocess.Popen(sys.argv[1:], stdout=w, stderr=err)
os.close(w)
os.close(err)


def is_blocked():
    with open(f"/proc/{p.pid}/status") as status:
        mask = re.search("^SigBlk:\t(.*)", status.read(), re.M).group(1)
    return int(mask, 16) >> signal.SIGUSR1 - 1 & 1


def answer():
    p.send_signal(signal.SIGUSR1)
    time.sleep(0.1)
    try:
        return os.read(messages, 1000)
    except BlockingIOError:
        return b""


while not is_blocked():
    time.sleep(0.01)
text = answer()
while not text:
    text = answer()
assert b"nothing is being read" in text or b" done, " in text, text
with os.fdopen(r, "rb") as pipe:
    assert pipe.read()[size:]
assert p.wait() == 0
END
ask () {
  [ -n "$wrapper" ] || timeout 120 python3 "$dir/ask.py" "$@" || fail "$*"
}
ask blksum "$dir/small"
ask blksum "$dir/small" "$dir/small"
ask blksum --check "$dir/sums"

sum=$(reference "$dir/image")
start_nbdkit file "$dir/image"
prints_sum "$sum" with_fd3 blksum --progress=3 "$uri"
check_lines 100/100
start_nbdkit eval get_size='echo 8m' \
  pread='[ $4 -lt 4194304 ] && head -c $3 /dev/zero ||
         { echo EIO no good >&2; exit 1; }'
run 2 with_fd3 blksum --progress=3 "$uri"
[ "$(head -n 1 "$dir/lines")" = 0/100 ] || fail "does not start at 0/100"
if grep -q 100/100 "$dir/lines"; then
  fail "100/100 without a sum"
fi

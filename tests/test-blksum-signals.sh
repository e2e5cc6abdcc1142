#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# SIGINT, SIGTERM and SIGHUP end blksum at once, by that signal, whatever it
# waits for, and nothing is left.

. "$(dirname "$0")/functions.sh"

# A shell gives its background children an ignored SIGINT: python does not.
# ends_by SIGNAL COMMAND: sent when COMMAND has run for half a second.
ends_by () {
  echo "+ SIG$*"
  "$PYTHON" - "$moment" "$@" << 'END' || fail "SIG$*"
import signal, subprocess, sys, time
moment, name, *command = sys.argv[1:]
number = getattr(signal, "SIG" + name)
def listen():
    # We may have been started with nohup, or in the background.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)
process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=listen)
time.sleep(0.5 * int(moment))
if process.poll() is not None:
    sys.exit("blksum ended before the signal")
start = time.monotonic()
process.send_signal(number)
status = process.wait(60)
took = time.monotonic() - start
if status != -number:
    sys.exit("status %d" % status)
if took > int(moment):
    sys.exit("took %.1f seconds" % took)
if process.stdout.read():
    sys.exit("printed something")
END
}

all_signals () {
  for signal in INT TERM HUP; do
    ends_by $signal "$@"
  done
}

# As the shell sees it.
dd if=/dev/zero bs=1M count=64 of="$dir/image" status=none
run 130 midway 'kill -INT $pid' "$dir/image"
run 143 midway 'kill -TERM $pid' "$dir/image"

# A pipe that gives nothing.
mkfifo "$dir/fifo"
sleep 1000 > "$dir/fifo" &
kill_at_exit $!
all_signals blksum "$dir/fifo"

# A slow NBD server: slow to read, to tell extents, to open.  One for each
# signal, because this one may not survive that a client disappears.
requires_nbdkit pattern memory --filter=delay
for slow in "pattern rdelay=1000" "memory delay-extents=1000" \
            "pattern delay-open=1000"; do
  for signal in INT TERM HUP; do
    start_nbdkit --filter=delay $slow size=64m
    ends_by $signal blksum "$uri"
  done
done

# qemu-nbd, in the middle of an image.
requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
write_data "$dir/image" 0 67108864
qemu-img convert -c -f raw -O qcow2 "$dir/image" "$dir/qcow2"
for signal in INT:130 TERM:143 HUP:129; do
  run ${signal#*:} midway "kill -${signal%:*} \$pid" "$dir/qcow2"
  [ -z "$(ls "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"
  serves_it () { grep -lz "$dir/qcow2" /proc/[0-9]*/cmdline 2> /dev/null; }
  nobody_serves_it () { [ -z "$(serves_it)" ]; }
  wait_until nobody_serves_it
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# SIGINT, SIGTERM and SIGHUP terminate blksum while it waits for something that
# never arrives.  Nothing is left.

. "$(dirname "$0")/../functions.sh"

# ends_by SIGNAL REACHED COMMAND: sends SIGNAL when COMMAND waits, which is when
# the file REACHED exists or, if it is a FIFO, has a reader.  Background
# children of a shell ignore SIGINT; those of python do not.
ends_by () {
  echo "+ SIG$*"
  "$PYTHON" - "$limit" "$@" << 'END' || fail "SIG$*"
import os, signal, stat, subprocess, sys, time
limit, name, reached, *command = sys.argv[1:]
number = getattr(signal, "SIG" + name)
def listen():
    # The test itself may run with nohup, or in the background.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)
def waits():
    try:
        if stat.S_ISFIFO(os.stat(reached).st_mode):
            os.open(reached, os.O_WRONLY | os.O_NONBLOCK)   # until we end
        return True
    except OSError:
        return False
process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=listen)
end = time.monotonic() + int(limit)
while not waits():
    if process.poll() is not None or time.monotonic() > end:
        process.kill()
        sys.exit("blksum did not get that far")
    time.sleep(0.01)
process.send_signal(number)
status = process.wait(int(limit))
if status != -number:
    sys.exit("status %d" % status)
if process.stdout.read():
    sys.exit("printed something")
END
}

# The exit status in a shell.
dd if=/dev/zero bs=1M count=64 of="$dir/image" status=none
run 130 midway 'kill -INT $pid' "$dir/image"
run 143 midway 'kill -TERM $pid' "$dir/image"

# A pipe without data.
mkfifo "$dir/fifo"
for signal in INT TERM HUP; do
  ends_by $signal "$dir/fifo" blksum "$dir/fifo"
done

# An NBD server that does not reply.
requires_nbd
for fault in hold-open hold-extents hold-read; do
  for signal in INT TERM HUP; do
    rm -f "$dir/reached"
    start_evil_server "$dir/image" $fault "$dir/reached"
    ends_by $signal "$dir/reached" blksum "$uri"
    stop_evil_server
  done
done

# A server that does not reply to many reads.
for signal in INT TERM HUP KILL; do
  rm -f "$dir/reached"
  start_evil_server "$dir/image" hold-64 "$dir/reached"
  ends_by $signal "$dir/reached" blksum -t 64 --read-size 64k "$uri"
  stop_evil_server
done

# qemu-nbd is running, in the middle of an image.
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

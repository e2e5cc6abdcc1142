#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# After SIGKILL at any moment, no process of qemu-nbd, no socket and no
# directory of blksum is left.

. "$(dirname "$0")/../functions.sh"
requires_qemu
[ -r /proc/self/environ ] || skip "no /proc"

truncate -s 64m "$dir/raw"
write_data "$dir/raw" 0 67108864
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/plain"
qemu-img convert -c -f raw -O qcow2 "$dir/raw" "$dir/compressed"

# Processes of this test have our TMPDIR in their environment.
"$PYTHON" - "$dir/tmp" "$limit" "$abs_top_srcdir/tests/midway.py" \
          "$dir/plain" "$dir/compressed" << 'END' ||
import glob, os, random, subprocess, sys, time

tmp, limit, midway = sys.argv[1], int(sys.argv[2]), sys.argv[3]
images = sys.argv[4:]
marker = b"TMPDIR=%s\0" % tmp.encode()


def left_behind():
    names = os.listdir(tmp)
    for path in glob.glob("/proc/[0-9]*/environ"):
        pid = path.split("/")[2]
        try:
            with open(path, "rb") as f:
                if marker not in f.read() + b"\0":
                    continue
            with open("/proc/%s/cmdline" % pid) as f:
                command = f.read().replace("\0", " ")
        except OSError:
            continue
        if "qemu" in command or "blksum" in command.split("/")[-1]:
            names.append(pid + ": " + command)
    return names


def nothing_is_left(when):
    end = time.monotonic() + limit
    while left_behind():
        if time.monotonic() > end:
            sys.exit("%s: %s" % (when, left_behind()))
        time.sleep(0.01)


for i in range(24):
    # While qemu-nbd starts, and later; no result depends on the delay.
    delay = random.uniform(0, (0.02, 0.06, 0.3)[i // 2 % 3])
    process = subprocess.Popen(["blksum", images[i % 2]], stdout=subprocess.DEVNULL)
    time.sleep(delay)
    process.kill()
    process.wait()
    nothing_is_left("after %.4f s" % delay)
for image in images:
    status = subprocess.call([sys.executable, midway, "kill -9 $pid", image])
    if status != 128 + 9:
        sys.exit("status %d" % status)
    nothing_is_left("in the middle of " + image)
END
  fail "see above"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# After SIGKILL at any moment no qemu-nbd process, no socket and no directory
# of blksum remain.

. "$(dirname "$0")/functions.sh"
requires_qemu
[ -r /proc/self/environ ] || skip "no /proc"

truncate -s 64m "$dir/raw"
write_data "$dir/raw" 0 67108864
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/plain"
qemu-img convert -c -f raw -O qcow2 "$dir/raw" "$dir/compressed"

# Our processes are those with our TMPDIR in their environment.
"$PYTHON" - "$dir/tmp" "$moment" "$dir/plain" "$dir/compressed" << 'END' ||
import glob, os, random, subprocess, sys, time

tmp, moment, images = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
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


for i in range(24):
    # Early, while qemu-nbd starts, and in the middle of the image.
    delay = random.uniform(0, (0.02, 0.06, 0.3)[i // 2 % 3]) * moment
    process = subprocess.Popen(["blksum", images[i % 2]], stdout=subprocess.DEVNULL)
    time.sleep(delay)
    process.kill()
    process.wait()
    end = time.monotonic() + 1
    while left_behind() and time.monotonic() < end:
        time.sleep(0.01)
    if left_behind():
        sys.exit("after %.4f s: %s" % (delay, left_behind()))
END
  fail "see above"

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run blksum and let something happen while it is in the middle of an image.

    midway.py EVENT ARGUMENT...

blksum gets a pipe for --progress that has room for its first line only, so it
stands still from its second line on, when it has read a part of the image.
Then the shell command EVENT is run, and blksum goes on.  No timing is
involved.  The image must be larger than a few reads of blksum.

The exit status is that of blksum, 128 + N if signal N ended it.
"""

import array
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time

FIRST_LINE = b"0/100\n"
WAIT = 60                       # seconds

event, arguments = sys.argv[1], sys.argv[2:]
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
size = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
os.write(writer, b"x" * (size - len(FIRST_LINE)))



def listen():
    # Whoever started us may ignore signals, and that is inherited.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)


process = subprocess.Popen(
    ["blksum", "--progress=%d" % writer, *arguments], pass_fds=[writer],
    preexec_fn=listen)
os.close(writer)


def unread():
    count = array.array("i", [0])
    fcntl.ioctl(reader, termios.FIONREAD, count)
    return count[0]


def stands_still():
    """A thread waits in a write to the full pipe."""
    if unread() < size:
        return False
    tasks = "/proc/%d/task" % process.pid
    for task in os.listdir(tasks):
        try:
            with open("%s/%s/wchan" % (tasks, task)) as f:
                if "pipe_write" in f.read():
                    return True
        except OSError:
            pass
    return False


end = time.monotonic() + WAIT
while process.poll() is None and not stands_still():
    if time.monotonic() > end:
        process.kill()
        sys.exit("midway.py: blksum did not get that far")
    time.sleep(0.01)
if process.returncode is not None:
    sys.stderr.write("midway.py: blksum ended before the event\n")
    sys.exit(1)

subprocess.run(event, shell=True, check=True,
               env=dict(os.environ, pid=str(process.pid)))
while os.read(reader, 65536):
    pass
status = process.wait()
sys.exit(status if status >= 0 else 128 - status)

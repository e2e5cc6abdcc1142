#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs blksum or blkhash, and a command while it is in the middle of an image.

    midway.py EVENT [blkhash COMMAND] ARGUMENT...

blksum gets a pipe for --progress that has room for its first two lines only: 0%
before it begins, and the next one when it has read something.  When both are
written, the shell command EVENT is run.  A thread that reports more progress
blocks, with the lock that other threads need for their reports, so blksum stays
in the middle until the event has ended and the pipe is read.  This depends on
no timing, and on no interface that only some kernels have.  The image must be
larger than a few reads of blksum.

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

ROOM = len(b"0/100\n" + b"99/100\n")
BOTH = len(b"0/100\n" + b"1/100\n")  # there is no room for a third line
LIMIT = 300                     # timeout in seconds, far above a passing run

event, arguments = sys.argv[1], sys.argv[2:]
if arguments[:1] != ["blkhash"]:
    arguments.insert(0, "blksum")
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
size = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
filled = os.write(writer, b"x" * (size - ROOM))


def listen():
    # Signals that our parent ignores would be ignored by blksum, too.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)


process = subprocess.Popen(
    [*arguments, "--progress=%d" % writer], pass_fds=[writer],
    preexec_fn=listen)
os.close(writer)


def unread():
    count = array.array("i", [0])
    fcntl.ioctl(reader, termios.FIONREAD, count)
    return count[0]


def fail(why):
    process.kill()
    process.wait()
    sys.exit("midway.py: " + why)


end = time.monotonic() + LIMIT
while process.poll() is None and unread() < filled + BOTH:
    if time.monotonic() > end:
        fail("blksum did not reach the middle")
    time.sleep(0.01)
if process.returncode is not None:
    fail("blksum ended before the event")

if os.environ.get("BLKHASH_TIMES_IN_SECONDS"):
    time.sleep(1)               # so that a touched file gets another time
happening = subprocess.Popen(event, shell=True, start_new_session=True,
                             env=dict(os.environ, pid=str(process.pid)))
try:
    if happening.wait(LIMIT) != 0:
        fail("the event failed")
except subprocess.TimeoutExpired:
    fail("the event did not end")
finally:
    if happening.poll() is None:
        os.killpg(happening.pid, signal.SIGKILL)
while os.read(reader, 65536):
    pass
status = process.wait()
sys.exit(status if status >= 0 else 128 - status)

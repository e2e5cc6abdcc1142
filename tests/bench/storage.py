# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Storage for benchmarks to read from: NBD servers, and files on FUSE.

Each exists during its "with".  They run in sessions of their own, so that
Ctrl-C ends the benchmark, which then unmounts and ends them in order.
"""

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time

import bench


def end_on_signals():
    """Raise an exception, which leaves each "with"; further signals are
    ignored."""
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

    def end(number, _):
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in signals:
        signal.signal(each, end)


@contextlib.contextmanager
def running(command, path):
    """A program that creates the file PATH when it is ready."""
    process = None
    try:
        process = subprocess.Popen(command, start_new_session=True)
        while not os.path.exists(path):
            if process.poll() is not None:
                bench.die("failed: " + " ".join(command))
            time.sleep(0.01)
        yield process
    finally:
        if process:
            process.terminate()
            process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def server(socket, *command):
    """An NBD server.  In its command "SOCKET" is replaced by its socket,
    "PIDFILE" by the file that it writes when it listens.  Yields its URI.
    """
    pid_file = socket + ".pid"
    places = {"SOCKET": socket, "PIDFILE": pid_file}
    try:
        with running([places.get(a, a) for a in command], pid_file):
            yield "nbd+unix:///?socket=" + socket
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)


@contextlib.contextmanager
def file_on_fuse(mountpoint, uri):
    """The path of a file with the content of an NBD export."""
    os.makedirs(mountpoint, exist_ok=True)
    path = os.path.join(mountpoint, "disk")
    pid_file = mountpoint + ".pid"
    try:
        with running(["nbdfuse", "--readonly", "--pidfile", pid_file, path,
                      uri], pid_file) as process:
            try:
                yield path
            finally:
                # Lazily: a process that was killed may not be gone yet.
                subprocess.run(["fusermount3", "-u", "-z", mountpoint],
                               check=False)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
    finally:
        os.rmdir(mountpoint)


class Counts:
    """The counters of disk-filter in a file; zero at first."""

    NAMES = ("reads", "bytes", "in-flight", "most", "nanoseconds")
    FORMAT = "=%dQ" % len(NAMES)

    def __init__(self, path):
        self.path = path
        self.clear()

    def clear(self):
        """Only while no read is in flight."""
        mode = "r+b" if os.path.exists(self.path) else "wb"
        with open(self.path, mode) as f:
            f.write(bytes(struct.calcsize(self.FORMAT)))

    def get(self):
        with open(self.path, "rb") as f:
            values = struct.unpack(self.FORMAT, f.read())
        return dict(zip(self.NAMES, values))

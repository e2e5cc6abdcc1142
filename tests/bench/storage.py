# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Storage for benchmarks to read from: NBD servers, and files on FUSE.

Each is a context manager.  The servers run in sessions of their own, so that
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
def running(command, is_ready):
    """A program, which is ready when is_ready() is true."""
    process = None
    try:
        process = subprocess.Popen(command, start_new_session=True)
        while not is_ready():
            if process.poll() is not None:
                bench.die("failed: " + " ".join(command))
            time.sleep(0.01)
        yield process
    finally:
        if process:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def server(socket, *command):
    """An NBD server.  In its command "SOCKET" is replaced by its socket,
    "PIDFILE" by the file that it writes when it listens.  Yields its URI.
    """
    pid_file = socket + ".pid"
    places = {"SOCKET": socket, "PIDFILE": pid_file}

    def is_ready():
        return os.path.exists(pid_file) and os.path.getsize(pid_file) > 0

    try:
        with running([places.get(a, a) for a in command], is_ready):
            yield "nbd+unix:///?socket=" + socket
    finally:
        for path in (socket, pid_file):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def server_cpu(socket):
    """CPU seconds of the server, so far."""
    with open(socket + ".pid") as f:
        pid = int(f.read())
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def file_system(mountpoint, command, directory):
    """disk-fs, which provides the files of DIRECTORY below MOUNTPOINT."""
    os.mkdir(mountpoint)
    try:
        # Any file: it exists when the file system is mounted.
        first = os.path.join(mountpoint, os.listdir(directory)[0])
        with running([*command, mountpoint],
                     lambda: os.path.exists(first)) as process:
            try:
                yield mountpoint
            finally:
                # Lazily: a process that was killed may not be gone yet.
                subprocess.run(["fusermount3", "-u", "-z", mountpoint],
                               check=False)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
    finally:
        os.rmdir(mountpoint)


class Counts:
    """The counts file of disk-filter or disk-fs: struct counts of disk-model.c;
    zero at first."""

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

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nbdkit as a process of the campaign: when its connections are closed, and how
it ended."""

import os
import re
import shutil
import signal
import subprocess
import time

LIMIT = 300                     # timeout in seconds, far above a passing run

# Aborts of nbdkit itself if a client breaks off: with two requests in flight it
# asserts that there is a socket to reply to, and the multi-conn filter asserts
# that a handshake was completed.
ABORTS = ("raw_send_socket: Assertion `sock >= 0'",
          "multi_conn_close: Assertion `h->group == NULL'",
          # Retry below multi-conn: two threads reopen the same connection.
          "plugin_open: Assertion `c->conn->exportname == NULL'",
          # In GnuTLS, about once in 1,500 servers with TLS.
          "nettle_chacha_poly1305_encrypt: Assertion")


class Failed(Exception):
    pass


class Aborted(Exception):
    """nbdkit has ended by itself, for a known reason."""


class Discarded(Exception):
    """A stack that nbdkit refuses, or that serves nothing."""


def gdb(*arguments):
    """The output of gdb, if it is installed."""
    if not shutil.which("gdb"):
        return ""
    return subprocess.run(["gdb", "-batch", *arguments], text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT).stdout


def keep_files(directory, seed):
    """Copy the files of a failed run to the directory BLKHASH_KEEP, if set."""
    keep = os.environ.get("BLKHASH_KEEP")
    if keep:
        shutil.copytree(directory, os.path.join(keep, str(seed)),
                        dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.sock"))


class Server:
    def __init__(self, args, socket, arguments, image, threads=1):
        """THREADS: the number of threads without clients."""
        self.args, self.socket = args, socket
        self.directory = os.path.dirname(socket)
        self.threads = threads + args.more_threads
        self.may_race = False
        with open(socket + ".log", "w") as log:
            self.process = subprocess.Popen(
                [*args.wrapper.split(), "nbdkit", "-f", "-v", "-U", socket,
                 "-P", socket + ".pid", *arguments],
                stderr=log, cwd=self.directory,
                env=dict(os.environ, IMAGE=image))

    def start(self):
        self.wait_until("nbdkit starts", lambda: self.has_ended() or
                        os.path.exists(self.socket + ".pid"))
        if self.has_ended():
            raise Discarded(self.log(3))

    def has_ended(self):
        return self.process.poll() is not None

    def kill(self):
        if not self.has_ended():
            self.process.kill()
            self.process.wait()

    def log(self, lines=1000):
        """The last LINES lines of the log."""
        with open(self.socket + ".log", errors="replace") as f:
            return "".join(f.readlines()[-lines:])

    # ---- Waiting ----

    def hang(self, what):
        raise Failed("HANG, not in time: %s\n%s" % (
            what, gdb("-p", str(self.process.pid),
                      "-ex", "thread apply all bt")))

    def wait_until(self, what, condition):
        deadline, pause = time.monotonic() + LIMIT, 0.0005
        while not condition():
            if time.monotonic() > deadline:
                self.hang(what)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def all_closed(self):
        """Wait until .close of the plugin has returned for all connections;
        their threads end later."""
        def closed():
            try:
                return len(os.listdir(tasks)) <= self.threads
            except FileNotFoundError:
                return True
        tasks = "/proc/%d/task" % self.process.pid
        self.wait_until("connections are closed", closed)
        if self.has_ended():
            self.ended_badly("while it served")

    # ---- The end ----

    def exited(self, status):
        """Another caller has waited for the process."""
        self.process.returncode = os.waitstatus_to_exitcode(status)

    def wait_for_end(self, number, when):
        """Wait after the signal NUMBER.  With a preloaded sanitizer, nbdkit can
        hang in a destructor of p11-kit, after our filter is unloaded: see
        filter-functions.sh."""
        if self.args.sanitizer:
            self.wait_until("the filter is unloaded", lambda: self.has_ended()
                            or re.search(r"blkhash\S*: unload", self.log()))
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                self.kill()
                return
        self.wait_until("nbdkit ends", self.has_ended)
        if self.process.returncode not in (
                0 if number == signal.SIGTERM else -number,):
            self.ended_badly(when)

    def ended_badly(self, when):
        status = self.process.poll()
        core = os.path.join(self.directory, "core")
        backtrace = gdb("-ex", "bt", "-ex", "thread apply all bt", "nbdkit",
                        core) if os.path.exists(core) else ""
        if status == -signal.SIGABRT and any(
                line in self.log() for line in ABORTS):
            raise Aborted("nbdkit aborted by itself")
        # The debugger also prints the command line, which has the path of the
        # socket.
        frames = [line for line in backtrace.split("\nThread ")[0].splitlines()
                  if line.startswith("#")]
        if self.may_race and status < 0 and frames and \
           not any("blkhash" in frame for frame in frames):
            raise Aborted("nbdkit crashed when it was to end")
        raise Failed("CRASH: nbdkit ended %s with %s\n%s\n%s" % (
            when, status, self.log(15), backtrace))

    def check_log(self):
        with open(self.socket + ".log", errors="replace") as f:
            log = f.read()
        found = re.search(r"^.*(Sanitizer|runtime error).*", log, re.M)
        if found:
            raise Failed("SANITIZER: " + log[found.start():][:6000])

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several clients of the campaign at once, some of which are killed; the server
may be ended meanwhile."""

import os
import select
import signal
import time

import clients
from server import LIMIT


class Crowd:
    def __init__(self, run, together):
        """TOGETHER: no client sends requests before all are connected."""
        self.run, self.rng = run, run.rng
        self.together = together
        self.number = self.rng.randrange(1, 6)
        if together and run.stack.lone:
            self.number = 1
        self.may_write = not run.stack.readonly and self.rng.random() < 0.85
        self.is_polite = self.rng.randrange(2) == 0
        self.logs, self.killed, self.kills = {}, set(), []

    def start(self):
        """Start the clients.  Returns the pipe to which they write when they
        are connected, and the pipe that they then wait to be closed."""
        ready, ready_write = os.pipe()
        go_read, go = os.pipe()
        inherited = (ready_write, go_read) if self.together else (None, None)
        for _ in range(self.number):
            manner = "leave" if self.is_polite else self.rng.choice(
                ("leave", "leave", "break off", "killed"))
            log = self.run.client_log()
            pid = clients.start_client(
                self.run, self.rng.getrandbits(62), self.may_write, manner, log,
                *inherited, close=(ready, go))
            self.logs[pid] = log
            if manner == "killed":
                self.kills.append((time.monotonic() + self.rng.random() * 0.05,
                                   pid))
        self.kills.sort()
        os.close(ready_write)
        os.close(go_read)
        return ready, go

    def run_clients(self, signal_server=None):
        """Run all clients; the server gets that signal meanwhile."""
        ready, go = self.start()
        try:
            if self.together:
                self.wait_for_connections(ready)
            os.close(go)
            go = None
            self.wait_for_clients(signal_server)
        finally:
            os.close(ready)
            if go is not None:
                os.close(go)
            for pid in self.logs:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def wait_for_connections(self, ready):
        missing = self.number
        while missing:
            if not select.select([ready], [], [], LIMIT)[0]:
                self.run.server.hang("clients connect")
            got = len(os.read(ready, missing))
            if not got:
                return                  # some failed
            missing -= got

    def kill_some(self):
        while self.kills and self.kills[0][0] <= time.monotonic():
            pid = self.kills.pop(0)[1]
            if pid in self.logs:
                self.killed.add(pid)
                os.kill(pid, signal.SIGKILL)

    def wait_for_clients(self, signal_server):
        server, start = self.run.server, time.monotonic()
        signal_at = start + self.rng.random() ** 2 * 0.05
        while self.logs:
            self.kill_some()
            if signal_server and time.monotonic() >= signal_at:
                server.process.send_signal(signal_server)
                signal_server = None
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid:
                self.exited(pid, status)
            elif time.monotonic() > start + LIMIT:
                server.hang("clients leave")
            else:
                time.sleep(0.001)
        if signal_server:
            server.process.send_signal(signal_server)

    def exited(self, pid, status):
        log = self.logs.pop(pid, None)
        if log is None:
            self.run.server_exited(pid, status)
        elif status and pid not in self.killed and not self.run.ending:
            with open(log) as f:
                self.run.blame("a client:\n" + "".join(f.readlines()[-5:]))

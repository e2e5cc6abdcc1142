# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run of the campaign: a server, its clients, its end, and whether the
result file is right."""

import os
import random
import re
import shutil
import signal
import subprocess
import time

import nbd
import clients
import reference
import refmanifest
import stacks
from crowd import Crowd
from server import LIMIT, Aborted, Discarded, Failed, Server

DIGESTS = ["sha256"] * 6 + ["md5", "sha512", "blake2b512"]


class Run:
    def __init__(self, args, seed, directory, tally):
        self.args, self.seed, self.dir, self.tally = (args, seed, directory,
                                                      tally)
        self.rng = rng = random.Random(seed)
        self.block_size = 1 << rng.randrange(12, 17)
        self.streams = rng.choice((0, 0, 0, 7))
        self.linear = not self.streams and rng.random() < 0.2
        self.digest = rng.choice(DIGESTS)
        self.spec = "%s/%dk%s%s" % (
            self.digest, self.block_size // 1024,
            "/s%d" % self.streams if self.streams else "",
            "/linear" if self.linear else "")
        self.missing = rng.choice(("read", "read", "read", "fail"))
        self.hot = [rng.random() for _ in range(3)]
        self.sums = os.path.join(directory, "sums")
        self.socket = os.path.join(directory, "nbd.sock")
        self.trigger = os.path.join(directory, "trigger")
        self.servers, self.clients = [], 0
        self.stack = stacks.Stack(rng, directory, args.modules)
        self.manifest = os.path.join(directory, "manifest")
        self.has_manifest = not self.stack.distinct and rng.random() < 0.6
        self.may_fail = self.stack.fails
        self.ending = self.lost_at_end = False
        self.last_content = None        # of each disk, while nothing changes it

    # ---- Servers ----

    def start(self, name, arguments, threads=1):
        server = Server(self.args, os.path.join(self.dir, name), arguments,
                        self.stack.image, threads)
        self.servers.append(server)
        server.start()
        return server

    def serve(self):
        if self.stack.below_server:
            self.start("below.sock", self.stack.below_server)
        parameters = ["blkhash-file=" + self.sums,
                      "blkhash-digest=" + self.spec,
                      "blkhash-missing=" + self.missing]
        if self.stack.distinct:
            parameters.append("blkhash-distinct-exports=true")
        if self.has_manifest:
            parameters.append("blkhash-manifest=" + self.manifest)
        self.server = self.start("nbd.sock", self.stack.arguments(
            self.args.filter, parameters), self.stack.threads)

    def server_exited(self, pid, status):
        for server in self.servers:
            if server.process.pid == pid:
                server.exited(status)
                if not self.ending:
                    server.ended_badly("while it served")

    def blame(self, what):
        """WHAT failed, perhaps because a server failed."""
        time.sleep(0.5)
        for server in self.servers:
            if server.has_ended():
                server.ended_badly("while it served")
        raise Failed(what)

    # ---- Results ----

    def lines(self):
        """The lines of the result file by name: a sum, or "# " and a reason."""
        result = {}
        with open(self.sums) as f:
            for line in f:
                found = re.match(r"# unknown (.*?): (.*)$", line)
                if found:
                    result[found[1]] = "# " + found[2]
                elif not line.startswith("#"):
                    found = re.match(r"blk-%s \((.*)\) = (.*)$" % self.spec,
                                     line)
                    result[found[1]] = found[2]
        return result

    def shown(self, name):
        if not name and any(p.name == "exportname" for p in self.stack.above):
            return "canonical"
        return name or "-"

    def published(self):
        """The current results: (lines, manifest)."""
        manifest = b""
        if self.has_manifest:
            with open(self.manifest, "rb") as f:
                manifest = f.read()
        return self.lines(), manifest

    def compare(self, published, contents, when):
        """CONTENTS has the content of each disk by export name, or of the only
        disk by None."""
        lines, manifest = published
        how = self.digest, self.block_size, self.streams, self.linear
        wanted = {}
        for name, md in lines.items():
            if md.startswith("#"):
                self.tally["none: " + re.sub(r"\d+", "N", md[2:])] += 1
                continue
            disk = name if self.stack.distinct else None
            if disk not in wanted:
                content = contents[disk]
                wanted[disk] = "unreadable" if content is None else \
                    reference.blkhash(content, *how)
            if md != wanted[disk]:
                if content is not None:
                    for file, data in (("content", content),
                                       ("published-manifest", manifest)):
                        with open(os.path.join(self.dir, file), "wb") as f:
                            f.write(data)
                raise Failed("WRONG SUM of %r %s: expected %s\ngot %s" % (
                    name, when, wanted[disk], md))
            self.tally["sum is right"] += 1
        if not lines:
            self.tally["none: no line"] += 1
        if manifest and manifest != refmanifest.write(contents[None], *how):
            raise Failed("WRONG MANIFEST %s" % when)

    def check_withdrawn(self, name):
        """A client whose change was acknowledged, and that is still connected,
        checks that there is no sum of this name."""
        if self.stack.hides or self.stack.reopens or self.ending:
            return
        md = self.lines().get(self.shown(name), "")
        if md and not md.startswith("#"):
            raise Failed("STALE SUM of %r: %s" % (name, md))

    # ---- The disk ----

    def read_disks(self, server, psk=None):
        result = {}
        for name in self.stack.names if self.stack.distinct else [""]:
            try:
                h = clients.connect(server.socket, name, psk)
                data = clients.read_all(h)
                h.shutdown()
            except nbd.Error:
                if not self.may_fail:
                    raise
                data = None
            h = None                    # closes it: the limit filter counts it
            server.all_closed()
            result[name if self.stack.distinct else None] = data
        return result

    def check_live(self):
        """Compare with the content that a new connection reads, which is a
        client of the filter too."""
        self.server.all_closed()
        before = self.published()
        if self.stack.opaque:
            return
        contents = self.read_disks(self.server, self.stack.tls)
        self.compare(before, contents, "while it serves")
        self.compare(self.published(), contents, "after it was read")
        if not (self.stack.volatile or self.stack.maps):
            with open(self.stack.image, "rb") as f:
                if f.read() != contents[None]:
                    raise Failed("the test is wrong: a fresh connection reads "
                                 "something else")
        self.last_content = contents

    def check_final(self):
        """Compare after the server has ended."""
        if self.lost_at_end:
            self.tally["not checked at the end: there was no .close"] += 1
            return
        if self.stack.volatile:
            contents = self.last_content
            if not contents:
                self.tally["not checked at the end: the disk is gone"] += 1
                return
        elif self.stack.maps:
            again = self.start("again.sock", self.stack.arguments_again(),
                               self.stack.threads)
            self.may_fail = True
            contents = self.read_disks(again)
            if None in contents.values() and self.stack.below_server:
                self.servers[0].all_closed() # or did it abort?
        else:
            with open(self.stack.image, "rb") as f:
                contents = {None: f.read()}
        self.compare(self.published(), contents, "at the end")

    # ---- Clients ----

    def client_log(self):
        self.clients += 1
        return os.path.join(self.dir, "client%d.log" % self.clients)

    def crowd(self, signal_server=None, early=False):
        """Several clients.  SIGNAL_SERVER is sent when all are connected and
        busy, or sooner if EARLY."""
        self.last_content = None
        crowd = Crowd(self, self.stack.late or (signal_server and not early))
        open(self.trigger, "w").close()
        crowd.run_clients(signal_server)
        os.unlink(self.trigger)
        if crowd.is_polite and crowd.may_write and not signal_server:
            self.count_sums()

    def count_sums(self):
        """Count sums after a crowd in which no client broke off, on a stack
        that should lose no sum."""
        if not self.stack.is_plain() or self.missing != "read":
            return
        self.server.all_closed()
        states = self.lines().values()
        if not states:
            self.tally["polite crowd: no line"] += 1
        elif any(not md.startswith("#") for md in states):
            self.tally["polite crowd: sum"] += 1
        else:
            for md in states:
                self.tally["polite crowd, %s: none: %s" % (
                    self.stack.plugin.name,
                    re.sub(r"\d+", "N", md[2:]))] += 1

    def change_alone(self, h, name):
        """Change one byte; no sum may remain."""
        unit = clients.minimum(h)
        at = self.rng.randrange(h.get_size() // unit) * unit
        old = h.pread(unit, at)
        h.pwrite(bytes(x ^ 1 for x in old), at)
        if not self.stack.hides and not self.stack.reopens:
            sums = [md for md in self.lines().values() if md[0] != "#"]
            if sums and not self.stack.distinct:
                raise Failed("STALE SUM: %s" % sums)
            self.check_withdrawn(name)

    def behave(self, name):
        """A single client that behaves well gets a sum."""
        self.last_content = None
        h = clients.connect(self.socket, name, self.stack.tls)
        try:
            if h.get_size() and not h.is_read_only() and \
               not self.stack.readonly and self.rng.random() < 0.7:
                self.change_alone(h, name)
            if self.missing == "fail" or self.rng.random() < 0.5:
                clients.read_all(h)
            elif h.is_read_only() or self.stack.readonly:
                clients.read_all(h)
            elif h.get_size():
                self.change_alone(h, name)
            if self.rng.random() < 0.3 and h.can_flush():
                h.flush()
            h.shutdown()
        except nbd.Error:
            if not self.may_fail:
                raise
        del h
        self.server.all_closed()
        self.must_have_sum(name)

    def copy(self):
        """nbdcopy or qemu-img with four connections: there must be a sum."""
        self.server.all_closed()
        name = self.rng.choice(self.stack.names)
        uri = "nbd+unix:///%s?socket=%s" % (name, self.socket)
        source = os.path.join(self.dir, "source")
        h = clients.connect(self.socket, name)
        size, self.last_content = h.get_size(), None
        writes = not (h.is_read_only() or self.stack.readonly)
        h.shutdown()
        del h
        self.server.all_closed()
        commands = [["nbdcopy", source, uri] if writes else
                    ["nbdcopy", uri, "null:"]]
        if size % 512 == 0 and writes and shutil.which("qemu-img"):
            commands.append(["qemu-img", "convert", "-n", "-m", "4", "-W",
                             "-f", "raw", "-O", "raw", source, uri])
        with open(source, "wb") as f:
            f.write(self.stack.random_content(size))
        done = subprocess.run(self.rng.choice(commands), text=True,
                              stderr=subprocess.PIPE, timeout=LIMIT)
        self.server.all_closed()
        if done.returncode and not self.may_fail:
            raise Failed("copy: " + done.stderr)
        if self.missing == "read" and not done.returncode:
            self.must_have_sum(name, "copied")

    def must_have_sum(self, name, how="alone"):
        lines, manifest = self.published()
        md = lines.get(self.shown(name), "# no line")
        if not md.startswith("#"):
            self.tally[how + ": sum"] += 1
            if self.has_manifest and not manifest:
                raise Failed("NO MANIFEST with the sum of %r" % name)
            return
        why = re.sub(r"\d+", "N", md[2:])
        if self.stack.opaque or self.may_fail or self.stack.lossy or \
           self.stack.tls:
            self.tally["%s: none: %s" % (how, why)] += 1
            return
        raise Failed("LOST SUM of %r, %s: %s" % (name, how, md))

    # ---- The end ----

    def end(self):
        """End the servers by a signal; or as after SIGKILL if nbdkit
        aborted."""
        how = self.rng.choices(
            ("idle SIGTERM", "busy SIGTERM", "early SIGTERM", "busy SIGKILL",
             "idle SIGKILL"), (40, 25, 5, 20, 10))[0]
        if self.args.sanitizer and how == "early SIGTERM":
            how = "busy SIGTERM"        # a client may wait for a hung server
        self.tally["end: " + how] += 1
        number = signal.SIGKILL if "KILL" in how else signal.SIGTERM
        if how.startswith("idle"):
            self.check_live()
            self.server.process.send_signal(number)
        else:
            self.ending = self.may_fail = True
            # nbdkit does not call .close then, so the disk never gets the data.
            self.lost_at_end = self.stack.late
            # A connection that nbdkit has just accepted can crash it: see
            # "Limits" in the manual.
            self.server.may_race = how == "early SIGTERM"
            self.crowd(number, self.server.may_race)
        self.server.wait_for_end(number, "at its end, " + how)

    def after_end(self):
        self.server.check_log()
        self.tally["passes over what is missing"] += len(re.findall(
            r"blkhash: reading \d+ missing bytes", self.server.log()))
        try:
            if self.stack.below_server:
                # It may not have written yet what was sent last.
                self.servers[0].all_closed()
            self.check_final()
        except Aborted:
            self.tally["not checked at the end: abort below"] += 1

    def connect_first(self):
        """Read with TLS first, where TLS is used: then there is no sum as soon
        as clients without TLS, which can see another disk, read or write."""
        for name in self.stack.names if self.stack.distinct else [""]:
            try:
                h = clients.connect(self.socket, name, self.stack.tls)
                size = h.get_size()
                if self.stack.tls and size:
                    h.pread(min(clients.minimum(h), size), 0)
                h.shutdown()
            except nbd.Error as e:
                raise Discarded(str(e))
            self.server.all_closed()
            if size == 0:
                raise Discarded("an empty disk")

    def run(self):
        self.serve()
        self.connect_first()
        try:
            self.crowds_and_end()
        except Aborted as e:
            self.tally[str(e)] += 1
        self.after_end()

    def crowds_and_end(self):
        try:
            self.crowds()
            self.end()
        except nbd.Error as e:
            self.blame("a client: %s" % e)

    def crowds(self):
        for _ in range(self.rng.randrange(1, 4)):
            self.crowd()
            next_step = self.rng.randrange(4)
            if next_step == 0:
                self.server.all_closed()
            if next_step > 1:
                self.check_live()
            if next_step == 1 and not self.stack.lone and not self.stack.tls:
                self.copy()
                self.check_live()
            if next_step > 2:
                for name in self.stack.names:
                    self.behave(name)
                self.check_live()

    def describe(self):
        return "seed %d: %s [%d bytes, %s, missing=%s%s%s] (%s)" % (
            self.seed, self.stack, self.stack.size, self.spec, self.missing,
            ", manifest" if self.has_manifest else "",
            ", names %s" % self.stack.names if self.stack.names != [""]
            else "", " ".join(sorted(self.stack.traits)))

    def clean_up(self):
        for server in self.servers:
            server.kill()

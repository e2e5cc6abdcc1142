#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a file can contain after a crash, computed from a trace of strace -f -y.

    crash-model.py TRACE FILE DISK CONTENT

FILE is a result file or a manifest; CONTENT is its synced content when the
trace begins.  At each begin of a write to DISK, a crash must leave no sum and
no manifest in FILE, whichever unsynced changes reached the storage.  Nor may a
new version get its name before its content is synced.  Prints the number of such
writes, and of states of FILE that had a sum or a manifest.
"""

import ast
import os
import re
import sys

# A manifest counts by its first line: a renamed one is complete.
SUM = re.compile(rb"^blk-.* = [0-9a-f]{64}$|\Ablkhash-manifest 1$", re.M)
CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)(?:<.*>)?(?: .*)?$")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?')


class Inode:
    def __init__(self, content):
        self.content = content
        self.possible = {content}
        self.appended = False   # unsynced data was written

    def set(self, content):
        self.content = content
        self.possible.add(content)

    def write(self, offset, data):
        def changed(content):
            content = content.ljust(offset, b"\0")
            return content[:offset] + data + content[offset + len(data):]
        self.content = changed(self.content)
        if len(data) > 1:
            self.possible |= {changed(c) for c in self.possible}
            self.appended = True
        # One byte turns a comment into a line, or a line into a comment.  Of
        # all states only those with more lines matter.
        elif data == b"\n":
            if self.appended:
                sys.exit("a line takes effect before it is synced")
            self.possible = {changed(c) for c in self.possible}

    def sync(self):
        self.possible = {self.content}
        self.appended = False


class Model:
    def __init__(self, path, content):
        self.path = path
        self.directory = os.path.dirname(path)
        self.inodes = {path: Inode(content)}    # by name
        self.removed = {}                       # by their last name
        self.possible = {self.inodes[path]}     # what the name may refer to
        self.fds = {}
        self.published = 0

    def named(self):
        self.possible.add(self.inodes.get(self.path))

    def open(self, args, strings, result):
        path = strings[0].decode()
        if path.startswith(self.path):
            if "O_EXCL" in args or path not in self.inodes:
                self.inodes[path] = Inode(b"")
                self.named()
            elif "O_TRUNC" in args:
                self.inodes[path].set(b"")
            self.fds[result] = self.inodes[path]

    def on_fd(self, name, args, strings):
        fd, what = re.match(r"(\d+)<(.*)>", args).groups()
        if what == self.directory and name.endswith("sync"):
            self.possible = {self.inodes.get(self.path)}
        # The last version was opened before the trace began.
        names = self.removed if ">(deleted)" in args else self.inodes
        what = self.fds.get(int(fd)) or names.get(what)
        if name == "close":
            self.fds.pop(int(fd), None)
        elif not what:
            return
        elif name.endswith("sync"):
            what.sync()
        elif name == "ftruncate":
            what.set(b"")
        elif name == "write":
            what.set(what.content + strings[0])
            self.published += bool(SUM.search(what.content))
        elif name == "pwrite64":
            what.write(int(args.rsplit(",", 1)[1]), strings[0])
            self.published += bool(SUM.search(what.content))

    def begin(self, text):
        """Another thread can get the number of a closed descriptor, and use it
        in the trace before close has returned."""
        closed = re.match(r"close\((\d+)<", text)
        if closed:
            self.fds.pop(int(closed.group(1)), None)

    def call(self, name, args, strings, result):
        if result < 0:
            return
        if name.startswith("open"):
            self.open(args, strings, result)
        elif name.startswith("rename"):
            old, new = (s.decode() for s in strings[:2])
            if not new.startswith(self.path):
                return
            inode = self.inodes.pop(old)
            if "RENAME_EXCHANGE" in args:
                self.inodes[old] = self.inodes[new]
            self.inodes[new] = inode
            if new == self.path:
                self.check_synced(inode)
                self.named()
        elif name.startswith("unlink"):
            name = strings[0].decode()
            self.removed[name] = self.inodes.pop(name, None)
            self.named()
        else:
            self.on_fd(name, args, strings)

    def check_synced(self, inode):
        if inode.possible != {inode.content}:
            sys.exit("a file gets its name before it is synced")

    def check(self, line):
        for inode in self.possible:
            for content in inode.possible if inode else ():
                if SUM.search(content):
                    sys.exit("%s\na crash here could bring back\n%s" %
                             (line, content.decode(errors="replace")))


def main():
    trace, path, disk, content = sys.argv[1:]
    model = Model(path, content.encode())
    unfinished = {}
    changes = 0
    with open(trace) as f:
        for line in f:
            line = line.rstrip("\n")
            pid, _, rest = line.partition(" ")
            rest = rest.lstrip()
            if re.match(r"pwrite64\(\d+<%s>" % re.escape(disk), rest):
                changes += 1
                model.check(line)
            if rest.endswith("<unfinished ...>"):
                unfinished[pid] = rest[:-len("<unfinished ...>")].rstrip()
                model.begin(unfinished[pid])
                continue
            resumed = re.match(r"<\.\.\. \w+ resumed>", rest)
            if resumed:
                rest = unfinished.pop(pid) + rest[resumed.end():]
                if rest.startswith("close("):
                    continue
            call = CALL.match(pid + " " + rest)
            if call:
                _, name, args, result = call.groups()
                strings = [ast.literal_eval('b"%s"' % s)
                           for s, more in STRING.findall(args)]
                model.call(name, args, strings, int(result))
    print(changes, model.published)


main()

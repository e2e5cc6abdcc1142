# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the verify filter wrote about disks, result, status and mapfile, compared
with each other and with a model.

PASS, MAY, FAIL is how a read of a block ends: it is right, can be either, or is
refused."""

import json
import os
import re

PASS, MAY, FAIL = range(3)
SIGNATURE = "# Mapfile. Created by nbdkit-blkhash-verify-filter\n"


class Wrong(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Wrong(what)


class Blocks:
    """What clients did with each block: which were in requests, which were in
    requests that were right, and which were refused alone."""

    def __init__(self, size, block_size):
        self.size, self.block_size = size, block_size
        self.count = -(-size // block_size)
        self.touched, self.right, self.refused = set(), set(), set()

    def request(self, offset, n, failed, by_block):
        """BY_BLOCK: it can only have failed because of its blocks."""
        blocks = range(offset // self.block_size,
                       (offset + n - 1) // self.block_size + 1)
        self.touched.update(blocks)
        if not failed:
            self.right.update(blocks)
        elif len(blocks) == 1 and by_block:
            self.refused.update(blocks)


def read_mapfile(path, blocks):
    """The character of each block."""
    with open(path) as f:
        text = f.read()
    check(text.startswith(SIGNATURE), "mapfile: " + text[:100])
    lines = [line.split() for line in text.splitlines()
             if not line.startswith("#")]
    check(lines.pop(0) == ["0x00000000", "?", "1"], "mapfile: no current_pos")
    states, at, before = "", 0, None
    for start, length, state in lines:
        start, length = int(start, 16), int(length, 16)
        check(start == at and length > 0 and state in "+-?" and
              state != before, "mapfile: range %d %d" % (start, length))
        at, before = at + length, state
        check(at == blocks.size or at % blocks.block_size == 0,
              "mapfile: not whole blocks")
        states += state * -(-length // blocks.block_size)
    check(at == blocks.size, "mapfile: its end is %d" % at)
    return states


def bytes_of(blocks, states, wanted):
    total = sum(blocks.block_size for state in states if state in wanted)
    if states and states[-1] in wanted:
        total -= blocks.count * blocks.block_size - blocks.size
    return total


def read_status(path, finished):
    """The exports by name."""
    with open(path) as f:
        status = json.load(f)
    check(status["finished"] == finished, "status: finished")
    exports = {export["name"]: export for export in status["exports"]}
    check(len(exports) == len(status["exports"]), "status: names twice")
    return exports


def ranges_of(export, blocks):
    """The states of blocks by the ranges."""
    states, end = ["+"] * blocks.count, 0
    for item in export["ranges"]:
        first, last = (item["start"] // blocks.block_size,
                       -(-(item["start"] + item["length"]) //
                         blocks.block_size))
        check(item["start"] >= end and item["length"] > 0, "status: order")
        end = item["start"] + item["length"]
        states[first:last] = item["result"][0] * (last - first)
    return "".join(states)


def check_status(export, blocks):
    """Its numbers agree.  Returns the states of blocks by the ranges."""
    total = dict((key, export[key + "-bytes"]) for key in (
        "verified", "differs", "unreadable", "repaired", "missing"))
    check(sum(total.values()) == export["size"] == blocks.size,
          "status: its parts are not the size: %s" % total)
    unread = export["unreadable-repaired-bytes"]
    check(0 <= unread <= total["repaired"], "status: unreadable")
    check(0 <= export["missing-zero-bytes"] <= total["missing"], "status: zero")
    check(export["result"] == (
        "differs" if total["differs"] + total["repaired"] - unread else
        "unknown" if total["unreadable"] + unread + total["missing"] else
        "ok"), "status: result")
    states = ranges_of(export, blocks)
    if export["ranges-complete"]:
        for key in "differs", "unreadable", "repaired", "missing":
            check(total[key] == bytes_of(blocks, states, key[0]),
                  "status: %s ranges" % key)
    return states


def check_mapfile(states, export, blocks, ranges):
    """Status and mapfile say the same."""
    for wanted, keys in ("+", ("verified",)), \
            ("-", ("differs", "unreadable", "repaired")), \
            ("?", ("missing",)):
        check(bytes_of(blocks, states, wanted) == sum(
            export[key + "-bytes"] for key in keys),
            "status, mapfile: bytes of %s" % wanted)
    if export["ranges-complete"]:
        check("".join("-" if a in "dur" else "?" if a == "m" else a
                      for a in ranges) == states, "status, mapfile: ranges")


# ---- The result ----

def escape(name):
    return name.replace("\\", "\\\\")


def line_of(disk):
    """That of a disk which is good."""
    name = escape(disk.name)
    return ("\\" if name != disk.name else "") + disk.sum(
        "%%s (%s) = %%s" % name.replace("%", "%%"))


def read_result(path):
    with open(path) as f:
        lines = f.read().split("\n")
    check(lines.pop() == "", "result: its last line is not whole")
    header = "# nbdkit-blkhash-verify-filter replaces this file"
    check(not lines or lines.pop(0) == header, "result: no header")
    return lines


def expected_line(export, line):
    """LINE is that of a disk which is good."""
    unread = export["unreadable-repaired-bytes"]
    differs = export["differs-bytes"] + export["repaired-bytes"] - unread
    unreadable = export["unreadable-bytes"] + unread
    name, zeros = escape(export["name"]), export["missing-zero-bytes"]
    rest = export["missing-bytes"] - zeros
    missing = [what for what in (
        "%d bytes cannot be read" % unreadable if unreadable else "",
        "%d bytes are missing" % rest if rest else "",
        "%d bytes of zeros are missing" % zeros if zeros else "") if what]
    if differs:
        return "# differs %s: %d bytes" % (name, differs)
    if missing:
        return "# unknown %s: %s" % (name, ", ".join(missing))
    return line


# ---- The model ----

def is_steady(disk):
    """A block that is bad in one read and right in another resets the states of
    all others."""
    return MAY not in disk.outcomes

def check_mapped(states, disk, zeros):
    """The states of a mapfile agree with what clients read."""
    blocks, outcomes = disk.blocks, disk.outcomes
    for i, state in enumerate(states):
        what = "block %d is %s" % (i, state)
        if i in zeros:
            check(state == "?", what + ", but zero by the manifest")
        elif i not in blocks.touched:
            check(state == "?", what + ", but was not read")
        elif outcomes[i] == PASS and i in blocks.right and is_steady(disk):
            check(state == "+", what + ", but was read")
        elif outcomes[i] == FAIL and i in blocks.refused and is_steady(disk):
            check(state == "-", what + ", but was refused")
        check(state != "+" or outcomes[i] != FAIL,
              what + ", but it is bad")
        check(state != "-" or outcomes[i] != PASS, what + ", but it is right")


def check_listed(states, export, disk, zeros):
    """So do the ranges and the counts of a status."""
    blocks, outcomes = disk.blocks, disk.outcomes
    for i, state in enumerate(states):
        what = "block %d is %s" % (i, state)
        check(state in "+m" or (outcomes[i] != PASS and i in blocks.touched),
              what + ", but it is right, or was not read")
        check(state not in "+m" or outcomes[i] != FAIL or
              i not in blocks.refused or
              not export["ranges-complete"] or not is_steady(disk),
              what + ", but was refused")
    for may, sign in ((False, 1), (True, -1))[not is_steady(disk):]:
        expected = "".join(
            "+" if i not in zeros and (
                i in blocks.touched and outcomes[i] != FAIL if may else
                i in blocks.right and outcomes[i] == PASS) else "?"
            for i in range(blocks.count))
        good = export["verified-bytes"]
        check(sign * (good - bytes_of(blocks, expected, "+")) >= 0,
              "status: %d bytes are good" % good)


def check_export(export, params, disk, mapfile):
    """After the server has ended.  MAPFILE is its path, or None."""
    zeros = disk.zeros()
    ranges = check_status(export, disk.blocks)
    check_listed(ranges, export, disk, zeros)
    if mapfile:
        states = read_mapfile(mapfile, disk.blocks)
        check_mapfile(states, export, disk.blocks, ranges)
        check_mapped(states, disk, zeros)
    failed = export["differs-bytes"] + export["unreadable-bytes"] > 0
    check(export["stopped"] == (params.fail == "stop" and failed) or
          (params.fail == "stop" and not is_steady(disk)), "status: stopped")


def check_killed(export, disk, mapfile):
    """After the server was killed: the files are whole, and of some moment.  A
    server that was killed early has not written its first mapfile."""
    states = check_status(export, disk.blocks)
    check(all(state in "+m" or outcome != PASS for state, outcome in
              zip(states, disk.outcomes)), "status: a good block is bad")
    written = mapfile and os.path.getsize(mapfile) > 0
    for i, state in enumerate(read_mapfile(mapfile, disk.blocks)
                              if written else ""):
        check(state == "?" or disk.outcomes[i] != (
            FAIL if state == "+" else PASS), "block %d is %s" % (i, state))


def check_files(paths, params, disks):
    """After the server has ended.  Returns the exports of the status."""
    # A server that was killed early has not written its first status.
    early = params.killed and os.path.getsize(paths["status"]) == 0
    exports = {} if early else read_status(paths["status"], not params.killed)
    result = read_result(paths["result"])
    wanted = set()
    for disk in disks:
        name = disk.name if params.several else "-"
        export = exports.get(name)
        mapfile = None if params.several else paths["map"]
        line = line_of(disk) if params.several else disk.sum("%s (-) = %s")
        if params.killed:
            # The result can be newer than the status.
            pattern = r"# (differs|unknown) %s: [0-9a-z, ]+" % re.escape(
                escape(name))
            wanted |= {found for found in result
                       if found == line or re.fullmatch(pattern, found)}
            if export:
                check_killed(export, disk, mapfile)
        elif export:
            check_export(export, params, disk, mapfile)
            wanted.add(expected_line(export, line))
        else:
            check(not disk.connected, "no status")
    check(set(result) == wanted and len(result) == len(wanted),
          "result: %r instead of %r" % (result, wanted))
    return exports.values()

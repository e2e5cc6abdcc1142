# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the verify filter wrote about a disk, result, status and mapfile,
compared with each other and with a model.

PASS, MAY, FAIL is how a read of a block ends: it is right, can be either, or is
refused."""

import json
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
    with open(path) as f:
        status = json.load(f)
    check(status["finished"] == finished, "status: finished")
    export, = status["exports"]
    return export


def ranges_of(export, blocks):
    """The states of blocks by the bad ranges."""
    states, end = ["+"] * blocks.count, 0
    for item in export["bad-ranges"]:
        first, last = (item["offset"] // blocks.block_size,
                       -(-(item["offset"] + item["length"]) //
                         blocks.block_size))
        check(item["offset"] >= end and item["length"] > 0, "status: order")
        end = item["offset"] + item["length"]
        states[first:last] = item["state"][0] * (last - first)
    return "".join(states)


def check_status(export, blocks, states):
    """Status and mapfile say the same."""
    total = dict((key, export[key + "-bytes"]) for key in (
        "verified", "zero", "bad", "unreadable", "not-read"))
    check(sum(total.values()) == export["size"] == blocks.size,
          "status: its parts are not the size: %s" % total)
    check(total["verified"] + total["zero"] == bytes_of(blocks, states, "+"),
          "status, mapfile: good bytes")
    check(total["bad"] + total["unreadable"] == bytes_of(blocks, states, "-"),
          "status, mapfile: bad bytes")
    check(export["result"] == (
        "bad" if total["bad"] else "incomplete"
        if total["unreadable"] + total["not-read"] else "good"),
        "status: result")
    if not export["bad-ranges-complete"]:
        return
    ranges = ranges_of(export, blocks)
    check(all((a in "bu") == (b == "-") for a, b in zip(ranges, states)),
          "status, mapfile: bad ranges")
    check(total["bad"] == bytes_of(blocks, ranges, "b"), "status: bad ranges")


def check_result(path, export, line):
    """LINE is that of a disk which is good."""
    with open(path) as f:
        text = f.read()
    bad, unreadable = export["bad-bytes"], export["unreadable-bytes"]
    name, rest = export["name"], export["not-read-bytes"]
    missing = [what for what in (
        "%d bytes cannot be read" % unreadable if unreadable else "",
        "%d bytes were not read" % rest if rest else "") if what]
    if bad:
        line = "# bad %s: %d bytes" % (name, bad)
    elif missing:
        line = "# incomplete %s: %s" % (name, ", ".join(missing))
    check(text == line + "\n", "result: %r instead of %r" % (text, line))


def check_model(states, blocks, outcomes, zeros):
    """ZEROS: the blocks that are served without reading."""
    for i, state in enumerate(states):
        what = "block %d is %s" % (i, state)
        if i in zeros:
            check(state == "+", what + ", but zero by the manifest")
        elif i not in blocks.touched:
            check(state == "?", what + ", but was not read")
        elif outcomes[i] == PASS and i in blocks.right:
            check(state == "+", what + ", but was read")
        elif outcomes[i] == FAIL and i in blocks.refused:
            check(state == "-", what + ", but was refused")
        check(state != "+" or i in zeros or outcomes[i] != FAIL,
              what + ", but it is bad")
        check(state != "-" or outcomes[i] != PASS, what + ", but it is right")


def check_files(paths, blocks, outcomes, zeros, line):
    """After the server has ended.  PATHS are those of the result, the status
    and the mapfile."""
    result, status, mapfile = paths
    states = read_mapfile(mapfile, blocks)
    export = read_status(status, True)
    check_status(export, blocks, states)
    check_result(result, export, line)
    check_model(states, blocks, outcomes, zeros)
    return export


def check_killed(paths, blocks, outcomes, zeros, line):
    """After the server was killed: the files are whole, and of some moment."""
    result, status, mapfile = paths
    states = read_mapfile(mapfile, blocks)
    ranges_of(read_status(status, False), blocks)
    with open(result) as f:
        text = f.read()
    check(text == line + "\n" or re.fullmatch(
        r"# (bad|incomplete) -: [0-9a-z, ]+\n", text), "result: %r" % text)
    for i, state in enumerate(states):
        check(state == "?" or outcomes[i] != (FAIL if state == "+" else PASS),
              "block %d is %s" % (i, state))

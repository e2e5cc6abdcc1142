#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which tests hardly run a line of C that no unit test and no cheaper test runs?

    covering.py ASAN DIR COMMAND...

Runs in the directory "tests" of a build with coverage: README.md has the commands.
Each COMMAND, such as ../../tests/blksum/test-names.sh, writes its counters below DIR,
unless they are there already.  Its time is that of its last run in ASAN, the directory
"tests" of a build with ASan; those that did not run there are left out.  Prints, from
the best test to the worst, how many lines it adds to those of the tests above.
"""

import json
import os
import subprocess
import sys

PARTS = "lib", "filter", "tools"


def run(where, *command):
    """Run a command with its counters below WHERE; return the lines that ran."""
    if not os.path.exists(where):
        os.makedirs(where)
        with open(where + "/log", "w") as log:
            if subprocess.call(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               env={**os.environ, "GCOV_PREFIX": where}) not in (0, 77):
                print("failed:", *command, file=sys.stderr)
    top = os.path.realpath(os.path.dirname(__file__) + "/..") + "/"
    lines = set()
    for directory, _, names in os.walk(where):
        counters = [name for name in names if name.endswith(".gcda")]
        for notes in (name[:-4] + "gcno" for name in counters):
            if not os.path.lexists(directory + "/" + notes):
                os.symlink(directory[len(where):] + "/" + notes, directory + "/" + notes)
        output = counters and subprocess.run(
            ["gcov", "-t", "-j", *counters], cwd=directory, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.splitlines()
        for data in map(json.loads, output):
            for file in data["files"]:
                name = os.path.realpath(
                    os.path.join(data["current_working_directory"], file["file"]))
                if (name.startswith(tuple(top + part for part in PARTS)) and
                        not os.path.basename(name).startswith("test-")):
                    lines |= {(name, line["line_number"])
                              for line in file["lines"] if line["count"]}
    return lines


def name_of(test):
    """With its folder, as make has it."""
    return "/".join(test.split("/")[-2:])


def seconds(asan, test):
    """None if the test was skipped, or not run.  make removes the log of an earlier run,
    so it was made when the test began."""
    name = asan + "/" + name_of(test)[:-3]
    if not os.path.exists(name + ".trs"):
        return None
    with open(name + ".trs") as file:
        if "test-result: SKIP" in file.read():
            return None
    born = subprocess.check_output(["stat", "-c", "%W", name + ".log"])
    return os.path.getmtime(name + ".trs") - int(born)


def main():
    asan, top = map(os.path.abspath, sys.argv[1:3])
    done, left = set(), {}
    for part in PARTS:
        done |= run("%s/%s" % (top, part), "make", "-k", "-C", "../" + part, "check")
    for test in sys.argv[3:]:
        time = seconds(asan, test)
        if time is not None:
            left[test] = time + 0.5, run("%s/%s" % (top, name_of(test)), test)
    while left:
        test = max(left, key=lambda name: len(left[name][1] - done) / left[name][0])
        time, lines = left.pop(test)
        print("%6d lines %6.1f s  %s" % (len(lines - done), time, test))
        done |= lines


if __name__ == "__main__":
    sys.exit(main())

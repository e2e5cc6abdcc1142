#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mutation of ourselves: do the tests notice if the code is changed?

Takes a random sample of the mutants (see mutants.py) of the code that decides
about a sum.  Each is built and run with the tests of its folder (see
mutanttests.py): unit tests first, then scripts.  It is killed if a test fails,
or hangs.  A survivor whose optimized object code is that of the original is
equivalent.  Mutants that do not compile, and equivalent ones, are not counted.

    mutate.py LOG [--count N] [--units] [--again] [--only PATTERN]
        [--configure OPTION]...

LOG has a line of JSON for each mutant, and those that are in it are not run
again.  With --again only the survivors in LOG run, all of them, whatever --count
is; the seed must be that of LOG.  With --units no scripts run.

The seed of the sample is BLKHASH_SEED.  The mutants run in the order of the
sample, so the first ones of a run that is interrupted are a random sample too.

The working tree is copied, and not changed.  Needs root, for namespaces: files
of a mutant in /tmp, and its processes, are gone at its end.
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import mutants
from mutanttests import FOLDERS, LIBRARIES

WORKERS = 4                     # some only wait for a test that hangs
LIMIT = 60                      # seconds; 6 times what the test takes if longer
SLOW = 2                        # seconds: with --units, a slower unit test runs
                                # only for the file with the name of the test
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
IN_NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                "--mount-proc", "sh", "-c", "ulimit -c 0 && "
                "mount -t tmpfs -o size=3g tmpfs /tmp && "
                'mount -t tmpfs tmpfs /dev/shm && "$@"', "sh"]


class Tree:
    """A built copy of the working tree."""

    def __init__(self, where, options):
        self.top = where
        self.changed = None     # the folder whose library may have a mutant
        names = subprocess.run(["git", "-C", TOP, "ls-files", "-z"], text=True,
                               check=True, stdout=subprocess.PIPE).stdout
        for name in names.strip("\0").split("\0"):
            os.makedirs(os.path.dirname(f"{where}/{name}"), exist_ok=True)
            shutil.copy2(f"{TOP}/{name}", f"{where}/{name}",
                         follow_symlinks=False)
        for command in (["./bootstrap"],
                        ["./configure", "--disable-dependency-tracking",
                         "CFLAGS=-O1 -w", *options],
                        ["make"], ["make", "check", "TESTS="]):
            if self.run(command) != 0:
                with open(where + "/mutate.log") as log:
                    sys.exit(f"{log.read()}\n{command} fails")

    def run(self, command, limit=None, directory="."):
        """The exit status; 0 if it was skipped; None if it hangs."""
        with open(self.top + "/mutate.log", "w") as log:
            child = subprocess.Popen(
                ["nice", "-n", "10"] + (IN_NAMESPACE if limit else []) + command,
                cwd=f"{self.top}/{directory}", stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
                env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                child.wait()
                return None
        return 0 if status == 77 else status

    def make(self, directory, *targets):
        return self.run(["make", "-s", "-C", directory, *targets]) == 0

    def make_library(self, top):
        return not LIBRARIES[top] or self.make(top, *LIBRARIES[top])

    def make_libraries(self, top):
        """TOP has a mutant; the last one is gone."""
        if self.changed not in (None, top):
            self.make_library(self.changed)
        self.changed = top
        return self.make_library(top)

    def test(self, name, limit):
        top, path = name.split("/", 1)
        if top != "tests":      # unit tests are built above their source
            path = os.path.basename(path)
        return self.run(["./" + path], limit, top)

    def all_tests(self):
        """Unit tests have the name of their source, without its suffix."""
        for folder in "lib/*", "tools/*", "filter/*":
            for source in sorted(glob.glob(f"{self.top}/{folder}/test-*.c")):
                name = os.path.relpath(source, self.top)[:-2]
                if os.path.exists(self.program(name)):
                    yield name
        yield from sorted({f"tests/{script}.sh" for folder in FOLDERS
                           for script in folder.scripts})

    def program(self, name):
        return f"{self.top}/{name.split('/')[0]}/{os.path.basename(name)}"

    def measure(self, name):
        """The seconds that a test takes, or None if it fails."""
        start = time.monotonic()
        status = self.test(name, 600)
        return time.monotonic() - start if status == 0 else None

    def object_code(self, name):
        """Of the file as it is, optimized: assembly.  It must compile."""
        top, name = name.split("/", 1)
        flags = subprocess.run(
            ["pkg-config", "--cflags", "json-c", "libcrypto", "libnbd"],
            text=True, stdout=subprocess.PIPE).stdout.split()
        return subprocess.run(
            ["nice", "gcc", "-O2", "-w", "-DHAVE_CONFIG_H", "-I.", "-I..",
             "-I../include", "-I../lib", *flags, "-S", "-o", "-", name],
            cwd=f"{self.top}/{top}", check=True, stdout=subprocess.PIPE).stdout


class Run:
    def __init__(self, trees, seconds, has_scripts, log, done):
        self.trees = queue.Queue()
        for tree in trees:
            self.trees.put(tree)
        self.seconds = seconds
        self.has_scripts = has_scripts
        self.log = log
        self.lock = threading.Lock()
        self.kills = collections.Counter(
            (result["file"], result["by"]) for result in done)

    def select(self, name, patterns):
        """The tests that are likely to kill a mutant of this file come first."""
        base = os.path.basename(name)[:-2]

        def rank(test):
            alike = os.path.commonprefix([base, test.split("test-")[1]])
            return -self.kills[name, test], -len(alike), self.seconds[test]
        return sorted((test for test in self.seconds
                       if any(re.match(p + "test-", test) for p in patterns) and
                       (self.has_scripts or base in test or
                        self.seconds[test] < SLOW)), key=rank)

    def kill(self, tree, name):
        """The test that notices the change, and how; or how it ends."""
        folder = next(f for f in FOLDERS if re.match(f.sources, name))
        top = name.split("/")[0]
        if not tree.make_libraries(top):
            return None, "does not compile"
        first = self.select(name, folder.units)
        then = [t for t in self.select(name, folder.more) if t not in first]
        scripts = self.select(name, [f"(?=tests/{s}\\.sh).*/"
                                     for s in folder.scripts]) \
            if self.has_scripts else []
        for test in first + then:
            directory = test.split("/")[0]
            if directory != top and not tree.make_library(directory) or \
                    not tree.make(directory, os.path.basename(test)):
                return None, "does not compile"
            status = tree.test(test, max(LIMIT, 6 * self.seconds[test]))
            if status != 0:
                return test, "hangs" if status is None else f"status {status}"
        if scripts and not (tree.make("lib") and tree.make("filter", "all") and
                            tree.make("tools", "blksum", "blkhash") and
                            tree.make("tests", "check", "TESTS=")):
            return None, "does not compile"
        for test in scripts:
            status = tree.test(test, max(LIMIT, 6 * self.seconds[test]))
            if status != 0:
                return test, "hangs" if status is None else f"status {status}"
        return None, "survives"

    def judge(self, mutant):
        tree = self.trees.get()
        path = f"{tree.top}/{mutant.file}"
        with open(path) as file:
            text = file.read()
        end = mutant.offset + mutant.length
        start = time.monotonic()
        try:
            code = tree.object_code(mutant.file)
            with open(path, "w") as file:
                file.write(text[:mutant.offset] + mutant.new + text[end:])
            by, fate = self.kill(tree, mutant.file)
            if fate == "survives" and tree.object_code(mutant.file) == code:
                fate = "equivalent"
        finally:
            with open(path, "w") as file:
                file.write(text)
            self.trees.put(tree)
        result = mutant._asdict() | {
            "old": text[mutant.offset:end], "by": by, "fate": fate,
            "seconds": round(time.monotonic() - start, 1)}
        with self.lock:
            self.kills[mutant.file, by] += 1
            self.log.write(json.dumps(result) + "\n")
            self.log.flush()
        return result


def measure(path, trees):
    """What each test takes; it is kept in PATH for the next run."""
    if not os.path.exists(path):
        names = list(trees[0].all_tests())
        half = len(trees) // 2 or 1
        with concurrent.futures.ThreadPoolExecutor(half) as pool:
            parts = pool.map(lambda i: {name: trees[i].measure(name)
                                        for name in names[i::half]},
                             range(half))
            seconds = {name: s for part in parts for name, s in part.items()}
        with open(path, "w") as file:
            json.dump(seconds, file)
    with open(path) as file:
        seconds = json.load(file)
    for name in (name for name in seconds if seconds[name] is None):
        print(f"{name} fails without a mutant, and is left out")
    return {name: s for name, s in seconds.items() if s is not None}


def sample():
    """All mutants, in a random order."""
    seed = int(os.environ.get("BLKHASH_SEED") or random.randrange(1 << 32))
    print(f"BLKHASH_SEED={seed}", flush=True)
    order = random.Random(seed)
    found = []
    for path in sorted(glob.glob("**/*.c", root_dir=TOP, recursive=True)):
        if any(re.match(folder.sources, path) for folder in FOLDERS) and \
                not os.path.basename(path).startswith("test-"):
            with open(f"{TOP}/{path}") as file:
                found += mutants.mutants_of(path, file.read(), order.choice)
    order.shuffle(found)
    return found


def key(result):
    return tuple(result[name] for name in ("file", "line", "column", "kind"))


def read_log(path):
    """The last result of each mutant."""
    if not os.path.exists(path):
        return {}
    with open(path) as log:
        return {key(result): result for result in map(json.loads, log)}


def report(results):
    """By folder; then the survivors, and equivalent ones."""
    table = collections.defaultdict(collections.Counter)
    for result in results:
        fate = "killed" if result["by"] else result["fate"]
        for folder in os.path.dirname(result["file"]), "all":
            table[folder][fate] += 1
    columns = "killed", "survives", "equivalent", "does not compile"
    print("folder | " + " | ".join(columns) + " | kill rate")
    for folder in sorted(table, key=lambda name: (name == "all", name)):
        row = table[folder]
        counted = row["killed"] + row["survives"] or 1
        print(f"{folder} | " + " | ".join(str(row[c]) for c in columns) +
              f" | {100 * row['killed'] / counted:.1f} %")
    for result in sorted(results, key=key):
        if result["fate"] in ("survives", "equivalent"):
            print("{file}:{line}:{column}: {fate}: {kind}: {old!r} -> {new!r}"
                  .format(**result))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--units", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", default="", help="a pattern of FILE:LINE")
    parser.add_argument("--configure", action="append", default=[])
    args = parser.parse_args()
    done = read_log(args.log)
    counted = [r for r in done.values() if r["by"] or r["fate"] == "survives"]
    todo = [m for m in sample() if re.match(args.only, f"{m.file}:{m.line}") and
            (done[key(m._asdict())]["fate"] == "survives"
             if args.again and key(m._asdict()) in done
             else not args.again and key(m._asdict()) not in done)]
    wanted = len(todo) if args.again else max(0, args.count - len(counted))
    with tempfile.TemporaryDirectory(prefix="mutate-", dir="/var/tmp") as where, \
            concurrent.futures.ThreadPoolExecutor(WORKERS) as pool, \
            open(args.log, "a") as log:
        trees = list(pool.map(
            lambda i: Tree(f"{where}/{i}", args.configure), range(WORKERS)))
        run = Run(trees, measure(args.log + ".seconds", trees), not args.units,
                  log, done.values())
        todo.reverse()          # pop takes the next one
        running = set()
        while wanted > 0 and (todo or running):
            while todo and len(running) < min(WORKERS, wanted):
                running.add(pool.submit(run.judge, todo.pop()))
            ended, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for result in (future.result() for future in ended):
                done[key(result)] = result
                if result["by"] or args.again or result["fate"] == "survives":
                    wanted -= 1
                print("{file}:{line}: {kind}: {fate} {by} ({seconds} s)"
                      .format(**result), flush=True)
    report(done.values())


if __name__ == "__main__":
    main()

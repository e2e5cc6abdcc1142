#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python module and processes: fork, multiprocessing, the end of the
interpreter, a library that is missing or too old.  Each program is run by
another Python, which must end by itself, with status 0, and print only what is
expected.

    test-processes.py [--rounds N]      repeat what threads can change
"""

import argparse
import os
import subprocess
import sys
import tempfile

LIMIT = 300                     # seconds, which a passing test never comes near

# Objects of a parent, while threads of C and of Python use them.
PARENT = """
import os, sys, threading, warnings
import blkhash

# Python 3.12 warns of each fork of a process with threads.
warnings.simplefilter("ignore", DeprecationWarning)
SPEC, DATA = "sha256/4k", os.urandom(1 << 20)
h = blkhash.new(SPEC, threads=4)
done = blkhash.new(SPEC, b"x")
done.digest()
t = blkhash.Leaves(SPEC, 1 << 30)
stop = threading.Event()

def use():
    while not stop.is_set():
        h.update(DATA)
        t.put(0, DATA)

threads = [threading.Thread(target=use, daemon=True) for _ in range(2)]
small = blkhash.Leaves(SPEC, 8192)
small.put(0, b"x" * 8192)
small.write_manifest("small.blkm")
m = blkhash.Manifest("small.blkm")
leaves = m.leaves()
next(leaves)

def check_child():
    for call in (lambda: h.update(b"x"), lambda: h.zero(1), h.digest,
                 h.hexdigest, lambda: t.put(0, b"x"), lambda: t.zero(0, 1),
                 t.missing, t.sum, lambda: t.put_leaves(0, bytes(32)),
                 lambda: t.write_manifest("child.blkm"), lambda: list(leaves)):
        try:
            call()
        except RuntimeError as e:
            assert "fork" in str(e), e
        else:
            raise AssertionError("a child used an object of its parent")
    t.close()
    assert done.digest() == blkhash.new(SPEC, b"x").digest()
    assert blkhash.new(SPEC, DATA).digest() == blkhash.new(SPEC, DATA).digest()
    new = blkhash.Leaves(SPEC, len(DATA))
    new.put(0, DATA)
    assert new.sum() == blkhash.new(SPEC, DATA).digest()
    assert len(list(m.leaves())) == 2
"""

PROGRAMS = {
    # The child frees objects, and ends as a program does.
    "fork": PARENT + """
for thread in threads:
    thread.start()
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        check_child()
        del h, t, leaves
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
h.digest()
assert next(leaves)[0] == 4096
""",
    # A fork in a child.
    "fork twice": PARENT + """
if os.fork() == 0:
    h = blkhash.new(SPEC)
    t = blkhash.Leaves(SPEC, 4096)
    leaves = m.leaves()
    next(leaves)
    if os.fork() == 0:
        check_child()
        os._exit(0)
    assert os.wait()[1] == 0
    h.update(b"x")
    os._exit(0)
assert os.wait()[1] == 0
""",
    # The interpreter ends while objects are alive and threads of C hash.
    "exit": PARENT + """
h.update(DATA * 20)
h.zero(1 << 40)
cycle = [h, t, leaves]
cycle.append(cycle)
""",
    "exit, daemon threads": PARENT + """
for thread in threads:
    thread.start()
while not h._size:
    pass
""",
    "os._exit": PARENT + """
for thread in threads:
    thread.start()
os._exit(0)
""",
    "exit by an exception in a call": PARENT + """
import atexit
atexit.register(lambda: (h.update(DATA), t.put(0, DATA), t.missing()))
""",
}

POOL = """
import multiprocessing, os, sys, warnings
import blkhash

warnings.simplefilter("ignore", DeprecationWarning)
SPEC, DATA = "sha256/4k", bytes(range(256)) * 1000
h = blkhash.new(SPEC, threads=4)

def work(i):
    local = blkhash.new(SPEC, DATA)
    t = blkhash.Leaves(SPEC, len(DATA))
    t.put(0, DATA)
    assert t.sum() == local.digest()
    return local.hexdigest()

def fail(i):
    blkhash.Leaves(SPEC, 1).sum()

if __name__ == "__main__":
    h.update(DATA * 10)
    t = blkhash.Leaves(SPEC, len(DATA))
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert set(pool.map(work, range(8))) == {work(0)}
            try:
                pool.map(fail, [1])
            except blkhash.IncompleteError as e:
                assert e.length == 1
            else:
                raise AssertionError("no exception")
        h.update(DATA)
    h.digest()
"""

IMPORT = """
try:
    import blkhash
except ImportError as e:
    print(e)
"""

TOO_OLD = "void blkhash_update (void) {}\nvoid blkhash_digests (void) {}\n"


def run(name, text, directory, expected=None, **environment):
    path = os.path.join(directory, "program.py")
    with open(path, "w") as f:
        f.write(text)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", path], cwd=directory,
        env={**os.environ, **environment}, timeout=LIMIT,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    output = result.stdout.decode()
    if result.returncode or (expected not in output if expected else output):
        sys.exit("FAIL: %s: status %d, expected %r, got\n%s"
                 % (name, result.returncode, expected or "", output))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(args.rounds):
            for name, text in PROGRAMS.items():
                run(name, text, directory)
            run("multiprocessing", POOL, directory)
        empty = os.path.join(directory, "lib")
        os.mkdir(empty)
        library = os.path.join(empty, "libblkhash.so.0")
        with open(library, "w") as f:
            f.write("not a library")
        run("not a library", IMPORT, directory, "blkhash needs the C library "
            "libblkhash.so.0", LD_LIBRARY_PATH=empty)
        run("not a library, what helps", IMPORT, directory,
            "run ldconfig, or set LD_LIBRARY_PATH", LD_LIBRARY_PATH=empty)
        with open(os.path.join(directory, "old.c"), "w") as f:
            f.write(TOO_OLD)
        try:
            subprocess.run([*os.environ.get("CC", "cc").split(), "-shared",
                            "-fPIC", "-Wl,-soname,libblkhash.so.0", "-o",
                            library, os.path.join(directory, "old.c")],
                           check=True)
        except OSError as e:
            print("not tested, an old library:", e)
            return
        run("an old library", IMPORT, directory, "too old",
            LD_LIBRARY_PATH=empty)


if __name__ == "__main__":
    main()

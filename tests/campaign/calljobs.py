# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of test-call-faults.py: what is run on which files, and what it may
print and leave behind when a call fails."""

import os
import shutil
import subprocess
import time

import reference
import refmanifest
import refverity

LIMIT = 300                     # timeout in seconds, far above a passing run


class Job:
    """A command line.  It runs in a directory of its own, with copies of FILES,
    as (path, name).  MAY_LEAVE are names of files that a failed run may leave in
    any state, or without which it may end; but the next run must then be right.
    STDIN is a file, or bytes that come from a pipe.
    OF_ONE_IMAGE: a failed run prints nothing on standard output.  TROUBLE is the
    status of a failed run, whose messages begin with SAYS, or the program.  PRINTED is the first
    line that a run prints, if it is known without our code; STATUS its status.
    DIRECT: it uses direct I/O, whose short counts are whole sectors, and which
    fails after a shorter one.
    WAITS: after an error of the connection it waits 5 s for qemu-nbd to say why."""

    def __init__(self, name, *command, files=(), may_leave=(), stdin=None,
                 trouble=2, says=None, of_one_image=True, repeat=True,
                 environment=None, printed=None, status=0,
                 direct=False, waits=False):
        self.name, self.command = name, command
        self.files, self.may_leave, self.stdin = files, may_leave, stdin
        self.trouble = trouble
        self.says = os.path.basename(command[0]) + ": " if says is None else says
        self.of_one_image, self.repeat = of_one_image, repeat
        self.printed, self.status = printed, status
        self.direct, self.waits = direct, waits
        self.environment = environment or {}

    def prepare(self, directory):
        for path, name in self.files:
            shutil.copy2(path, os.path.join(directory, name))

    def has_failed(self, outcome):
        """Did the run end with an error, and a message?"""
        return outcome.status == self.trouble and any(
            line.startswith(self.says) for line in outcome.stderr.splitlines())

    def may_print(self, right, stdout):
        """May a run that failed print STDOUT, if it should print RIGHT?"""
        if self.of_one_image:
            return not stdout
        return set(stdout.splitlines()) <= set(right.splitlines())

    def is_right_again(self, right, again):
        """Is AGAIN, the run after one that failed, as RIGHT?"""
        return (again.status, again.stdout) == (right.status, right.stdout)


class Repair(Job):
    """The disk is what it was, or good.  A source that fails leaves it bad."""

    def __init__(self, files, blkhash):
        super().__init__(
            "repair", blkhash, "repair", "--manifest", files.path("raw.blkm"),
            "--sum", files.sum, "--limit", "100%", "--from", "twin", "disk",
            may_leave=("disk",),
            files=((files.path("changed"), "disk"), (files.path("raw"), "twin")),
            printed="disk: OK (1 block repaired)", direct=True)
        self.contents = [files.read("changed"), files.read("raw")]

    def has_failed(self, outcome):
        left_bad = outcome.status == 1 and outcome.stderr
        return outcome.files["disk"] in self.contents and (
            left_bad or super().has_failed(outcome))

    def may_print(self, right, stdout):
        return stdout in (b"", b"disk: FAILED (1 block without a source)\n")

    def is_right_again(self, right, again):
        return again.status == 0 and again.stdout in (right.stdout, b"disk: OK\n")


class Export(Job):
    """It replaces no file, so after an error that comes when the file is complete
    the next run says that it exists."""

    def is_right_again(self, right, again):
        return super().is_right_again(right, again) or \
            again.status == 2 and "exists, and is not replaced" in again.stderr


class Example(Job):
    """It prints the digest in pieces."""

    def may_print(self, right, stdout):
        return len(stdout) < len(right)


class Json(Job):
    """The object of a failed run is not terminated, or has the error."""

    def may_print(self, right, stdout):
        return b'"sum"' not in stdout or not stdout.endswith((b"}", b"}\n"))


class Check(Job):
    """Status 1 of an image that differs takes precedence."""

    def has_failed(self, outcome):
        return outcome.status == 1 and outcome.stderr or \
            super().has_failed(outcome)

    def may_print(self, right, stdout):
        names = [line.split(b": ")[0] for line in right.splitlines()]
        return set(stdout.splitlines()) <= set(right.splitlines()) | {
            name + b": FAILED open or read" for name in names}


class Driver(Job):
    """blkhash-driver prints what each call returned, and continues."""

    def has_failed(self, outcome):
        return b"error " in outcome.stdout or super().has_failed(outcome)

    def may_print(self, right, stdout):
        rights = set(right.splitlines())
        return all(line in rights or line.startswith(b"error ")
                   for line in stdout.splitlines())


# ---- The files ----

def random_image(rng, size):
    """Data, zeros and holes, most of them unaligned."""
    content = bytearray(size)
    for _ in range(3):
        at = rng.randrange(size - 300000)
        content[at:at + 300000] = rng.randbytes(300000)
    content[-100:] = rng.randbytes(100)
    return bytes(content)


def write_sparse(path, content):
    with open(path, "wb") as f:
        for at in range(0, len(content), 4096):
            part = content[at:at + 4096]
            if any(part):
                f.seek(at)
                f.write(part)
        f.truncate(len(content))


class Files:
    """The images and manifests in the directory WHERE, by name."""

    def __init__(self, where, programs, rng):
        self.where, self.programs = where, programs
        content = random_image(rng, 1500160)
        changed = bytearray(content)
        changed[700000:700100] = rng.randbytes(100)
        self.content = content
        write_sparse(self.path("raw"), content)
        write_sparse(self.path("changed"), bytes(changed))
        self.sum = reference.blkhash([content])
        self.changed_sum = reference.blkhash([bytes(changed)])
        for n in range(4):
            with open(self.path("small%d" % n), "wb") as f:
                f.write(rng.randbytes(rng.randrange(1, 70000)))
        self.blksum("--manifest", self.path("raw.blkm"), self.path("raw"))
        self.blksum("--manifest", self.path("changed.blkm"),
                    self.path("changed"))
        self.blocks = content[:len(content) // 4096 * 4096]
        write_sparse(self.path("blocks"), self.blocks)
        for name in "raw", "blocks":
            self.blksum("-d", "sha256/4k", "--manifest",
                        self.path(name + "-4k.blkm"), self.path(name))
        self.write("changes", refmanifest.changes(
            len(content), [(655360, 131072)]).encode())
        os.mkdir(self.path("parts"))
        for part in range(2):
            self.run(programs.blkhash, "parts", "--state", "x", "--part",
                     "%d/2" % part, self.path("raw"), self.path("parts"))
        self.write("list", ("%s  %s\n%s  %s\n" % (
            self.sum, self.path("raw"), self.sum, self.path("changed"))
        ).encode())
        self.has_qemu = all(map(shutil.which, ("qemu-img", "qemu-nbd")))
        self.has_qemu = self.has_qemu and programs.nbd
        if self.has_qemu:
            self.make_qcow2()

    def path(self, name):
        return os.path.join(self.where, name)

    def part(self, n):
        return self.path("parts/part-%06d-of-000002.blkm" % n)

    def can_repair(self):
        """Not on all file systems."""
        return subprocess.run(
            [self.programs.blkhash, "repair", "--manifest", self.path("raw.blkm"),
             "--sum", self.sum, "--from", self.path("raw"), "--dry-run",
             self.path("changed")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 1

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)

    def run(self, *command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL)

    def blksum(self, *arguments):
        self.run(self.programs.blksum, *arguments)

    def make_qcow2(self):
        self.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2",
                 self.path("raw"), self.path("qcow2"))
        self.run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2",
                 "-b", self.path("qcow2"), self.path("overlay"))
        self.run("qemu-io", "-f", "qcow2", "-c", "write -P 7 65536 3000",
                 self.path("overlay"))
        content = bytearray(self.content)
        content[65536:65536 + 3000] = b"\7" * 3000
        self.overlay_sum = reference.blkhash([bytes(content)])


class Server:
    """nbdkit, with an image.  One request at a time: with more, nbdkit 1.32 can
    abort if a client breaks off."""

    def __init__(self, directory, image):
        self.socket = os.path.join(directory, "nbd.sock")
        self.image, self.process = image, None
        self.uri = "nbd+unix:///?socket=" + self.socket

    def start(self):
        """Unless it runs."""
        if self.process and self.process.poll() is None:
            return
        pid = self.socket + ".pid"
        for path in self.socket, pid:
            if os.path.exists(path):
                os.unlink(path)
        self.process = subprocess.Popen(
            ["nbdkit", "-f", "-r", "--exit-with-parent", "-U", self.socket,
             "-P", pid, "--filter=noparallel", "file", self.image],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + LIMIT
        while not os.path.exists(pid):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit("nbdkit does not start")
            time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()


# ---- The jobs ----

def line_of(name, value):
    return "%s  %s" % (value, name)


def tagged(name, value):
    return "blk-sha256/64k (%s) = %s" % (name, value)


def blksum_jobs(files, programs):
    blksum, blkhash, path = programs.blksum, programs.blkhash, files.path
    raw, changed = path("raw"), path("changed")
    line = line_of(raw, files.sum)
    old = [(path("changed.blkm"), "m")]
    smalls = [path("small%d" % n) for n in range(4)]
    manifest = "manifest:" + path("raw.blkm")
    yield Job("raw", blksum, raw, printed=line)
    yield Job("tag, blake2b-512", blksum, "--tag", "-d", "blake2b512/64k/s4",
              raw)
    yield Json("JSON", blksum, "--output=json", raw)
    yield Job("several", blksum, *smalls, of_one_image=False)
    yield Job("standard input", blksum, stdin=open(raw, "rb"),
              printed=line_of("-", files.sum))
    yield Job("pipe", blksum, "-", stdin=files.content,
              printed=line_of("-", files.sum))
    yield Job("manifest", blksum, "--manifest", "m", raw, printed=line)
    yield Job("manifest, overwritten", blksum, "--manifest", "m", raw,
              files=old, printed=line)
    yield Job("manifest of a pipe", blksum, "--manifest", "m", "-",
              stdin=files.content, printed=line_of("-", files.sum))
    yield Job("manifest as operand", blksum, manifest,
              printed=line_of(manifest, files.sum))
    yield Check("check", blksum, "--check", path("list"), printed=raw + ": OK",
                status=1)
    yield Job("expect", blksum, "--expect", files.sum, raw)
    yield Job("expect, part", blksum, "--expect", manifest, "--part", "1/2",
              raw)
    if files.can_repair():
        yield Repair(files, blkhash)
    yield Job("compare", blkhash, "compare", raw, changed, of_one_image=False,
              status=1)
    yield Job("compare with manifest", blkhash, "compare", manifest, raw)
    yield Job("update", blkhash, "update", "--changed", path("changes"),
              "--manifest", "m", path("raw.blkm"), changed, files=old,
              printed=tagged(changed, files.changed_sum))
    yield Job("part", blkhash, "parts", "--state", "x", "--part", "1/2", raw, ".",
              may_leave=("plan",))
    yield Job("parts", blkhash, "parts", "--state", "x", raw, ".",
              files=((path("parts/plan"), "plan"), (files.part(1), os.path.basename(
                  files.part(1)))), may_leave=(os.path.basename(files.part(0)),),
              printed=tagged(raw, files.sum))
    yield Job("merge", blkhash, "merge", "--manifest", "m", files.part(0),
              files.part(1), printed=tagged("manifest:m", files.sum))
    yield Export("export verity", blkhash, "export", "--to", "verity",
                 path("blocks-4k.blkm"), "tree",
                 printed=refverity.root(files.blocks).hex())
    yield Export("export fsverity", blkhash, "export", "--to", "fsverity",
                 "--image", raw, "--descriptor", "d", path("raw-4k.blkm"),
                 printed="sha256:" + refverity.fsverity(files.content))
    yield Export("export leaves", blkhash, "export", "--to", "leaves",
                 path("raw.blkm"), "leaves", printed=tagged(manifest, files.sum))
    yield Job("merge, one missing", blkhash, "merge", "--manifest", "m",
              files.part(1), status=2)


def qemu_jobs(files, programs):
    path = files.path

    def job(name, *arguments, **options):
        return Job(name, programs.blksum, *arguments, waits=True, **options)
    yield job("qcow2, probed", path("qcow2"),
              printed=line_of(path("qcow2"), files.sum))
    for name, value in ("qcow2", files.sum), ("overlay", files.overlay_sum):
        line = line_of(path(name), value)
        yield job(name, "-f", "qcow2", path(name), printed=line)
        yield job(name + " by qemu", "-f", "qcow2", path(name), printed=line,
                  environment={"BLKSUM_DIRECT": "0"})
    yield job("manifest of overlay", "-f", "qcow2", "--manifest", "m",
              path("overlay"), printed=line)
    yield Job("compare overlays", programs.blkhash, "compare", "-f", "qcow2",
              "-F", "qcow2", path("qcow2"), path("overlay"), waits=True,
              of_one_image=False, status=1)


def nbd_jobs(files, programs, uri):
    yield Job("NBD", programs.blksum, uri, printed=line_of(uri, files.sum))
    yield Job("compare with NBD", programs.blkhash, "compare", uri,
              files.path("changed"), of_one_image=False, status=1)


DRIVER = """content 500000
batch 1 14
new sha256 65536 0 2 4
update 0 100000
zero 200000
aio 100000 200000
aio 300000 70000
reap
final
free
leaves-new sha256 65536 0 500000 0
leaves-zero 100 0
leaves-data 100 200000 100
leaves-data 200100 299900 200100
leaves-fold
leaves-free
"""


def api_jobs(files, programs):
    """Programs of the API.  The examples exist after "make check" of their
    directory."""
    raw = files.path("raw")
    yield Driver("API: driver", programs.driver, stdin=DRIVER.encode(),
                 trouble=1, says="", of_one_image=False, repeat=False)

    def example(name, *arguments, **options):
        program = os.path.join(programs.examples, "blkhash-" + name)
        if os.path.exists(program):
            yield Example("API: blkhash-" + name, program, *arguments, trouble=1,
                          says="", printed=files.sum, **options)
    yield from example("sync", raw)
    yield from example("leaves", raw)
    yield from example("aio", stdin=files.content)
    yield from example("manifest", "m", stdin=files.content, may_leave=("m",),
                       repeat=False)

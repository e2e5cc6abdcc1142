#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random option strings: qemu-nbd opens what the user described to blksum.

blksum parses the operand of --image-opts itself, and passes the checked options
to qemu-nbd.  In each round qemu-img gets the operand, and then the options of
qemu-nbd; both must open the same image, or fail for the same reason, and the
sum must be that of the data that qemu-img reads.  Operands that blksum refuses
are not compared, but must be those that this script expects to be refused.

    image-opts-random.py DIRECTORY [--seed S] [--rounds N] [--only ROUND]

The seed is printed.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys

SIZE = 1 << 20

# Plain names; names to escape in strings or in JSON; invalid UTF-8, or not for
# JSON.
NAMES = [b"image", b"a,b", b",", b"x,driver=raw", b"a b=c", b"q\"u\\o'te",
         b"new\nline\x01\x7f", b"json:{}", "\u00e4\U0001f600".encode(),
         "\ufdcf\ufdf0\U0001effe\U0010efff".encode(),
         b"caf\xe9", b"\xed\xa0\x80", "\ufdd0".encode(), "\ufdef".encode(),
         "\uffff".encode(), "\U0010fffe".encode()]

WRAPPER = """#!/bin/sh
for last; do :; done
form=
case " $* " in *" --image-opts "*) form=--image-opts ;; esac
printf '%%s\\0%%s' "$form" "$last" > "$0.options"
exec %s "$@"
"""


class Failure(Exception):
    pass


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def check(*command):
    result = run(*command)
    if result.returncode != 0:
        raise Failure("%s: %r" % (command, result.stderr))
    return result.stdout


# ---- Images ---------------------------------------------------------------


def make_images(directory):
    """For each name a raw, a qcow2, and an overlay of that qcow2, all
    different."""
    os.chdir(directory)
    for kind in "raw", "qcow2", "top":
        os.mkdir(kind)
    rng = random.Random(0)
    with open("raw/image", "wb") as image:
        image.write(rng.randbytes(SIZE // 2) + bytes(SIZE // 2))
    check("qemu-img", "convert", "-f", "raw", "-O", "qcow2", "raw/image",
          "qcow2/image")
    check("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b",
          "../qcow2/image", "top/image")
    for name in NAMES[1:]:
        try:
            for kind in b"raw", b"qcow2", b"top":
                shutil.copy(kind + b"/image", kind + b"/" + name)
        except OSError:         # some file systems do not accept all of them
            NAMES.remove(name)


# ---- Options --------------------------------------------------------------


class Options:
    """A list of keys and values, as bytes, and why they are refused."""

    def __init__(self, rng):
        self.rng, self.refusal = rng, None
        self.options = []
        self.image("")
        for _ in range(rng.randrange(4)):
            self.extra("")
        if rng.random() < 0.15:
            self.junk()
        if rng.random() < 0.2:
            self.contradict()
        rng.shuffle(self.options)

    def add(self, key, value):
        if isinstance(value, str):
            value = value.encode()
        # A repeated key would be a contradiction.
        if key not in [k for k, _ in self.options]:
            self.options.append((key, value))

    def file(self, prefix, kind):
        if self.rng.random() < 0.5:
            self.add(prefix + "driver", "file")
        name = self.rng.choice(NAMES)
        self.add(prefix + "filename", kind.encode() + b"/" + name)
        for _ in range(self.rng.randrange(3)):
            self.extra(prefix)
        if self.rng.random() < 0.2:
            self.add(prefix + "locking", self.rng.choice(("on", "off",
                                                          "auto")))
        if self.rng.random() < 0.2:
            self.add(prefix + "aio", self.rng.choice(("threads", "none")))

    def part(self, prefix):
        offset = self.rng.choice(("0", "512", "4k", "64K", "256k"))
        size = self.rng.choice(("512", "1k", "256K", "524288", "0.25M", "x"))
        if self.rng.random() < 0.5:
            self.add(prefix + "offset", offset)
        if self.rng.random() < 0.5:
            if size in ("0.25M", "x"):
                self.refusal = "is not a size"
            self.add(prefix + "size", size)

    def raw(self, prefix):
        self.add(prefix + "driver", "raw")
        self.part(prefix)
        kind = self.rng.random()
        if kind < 0.6:
            self.file(prefix + "file.", "raw")
        elif kind < 0.7:
            self.null(prefix + "file.")
        elif kind < 0.8:
            self.nbd(prefix + "file.")
        else:
            self.qcow2(prefix + "file.")

    def null(self, prefix):
        self.add(prefix + "driver", "null-co")
        self.add(prefix + "size", self.rng.choice(("1M", "1048576", "3g")))
        self.add(prefix + "read-zeroes", "on")

    def nbd(self, prefix):
        """There is no server: the reason must be the same."""
        self.add(prefix + "driver", "nbd")
        self.add(prefix + "server.type", "unix")
        self.add(prefix + "server.path", self.rng.choice(("none", "a,b")))
        if self.rng.random() < 0.5:
            self.add(prefix + "reconnect-delay", self.rng.choice("0x"))

    def qcow2(self, prefix):
        self.add(prefix + "driver", "qcow2")
        kind = self.rng.choice(("qcow2", "qcow2", "top"))
        self.file(prefix + "file.", kind)
        if kind == "top" and self.rng.random() < 0.3:
            self.add(prefix + "backing", "")
        elif kind == "top":
            self.qcow2(prefix + "backing.")
        choices = (("lazy-refcounts", "off"), ("overlap-check", "all"),
                   ("overlap-check.template", "none"),
                   ("l2-cache-size", "1M"), ("cache-size", "x"),
                   ("pass-discard-other", "on"),
                   ("cache-clean-interval", "0"))
        if self.rng.random() < 0.4:
            key, value = self.rng.choice(choices)
            self.add(prefix + key, value)

    def image(self, prefix):
        self.rng.choice((self.raw, self.raw, self.qcow2))(prefix)

    def extra(self, prefix):
        key, value = self.rng.choice((
            ("read-only", "on"), ("auto-read-only", "on"),
            ("cache.direct", "off"), ("cache.no-flush", "on"),
            ("cache.no-flush", "maybe"), ("detect-zeroes", "off"),
            ("detect-zeroes", "true"), ("discard", "ignore"),
            ("force-share", "on"), ("node-name", "a-node.0"),
            ("node-name", "1")))
        if key == "node-name" and any(k.endswith(key)
                                      for k, _ in self.options):
            return
        self.add(prefix + key, value)

    def junk(self):
        # Not "id": qemu refuses it before the other options, or after them.
        key = self.rng.choice(("x", "help", "?", "file.x", "x.0", "0",
                               "file.filename-x", "x..y", "x.", "\u00e4"))
        self.add(key, self.rng.choice(("on", "1", "", b"\xff", "a,b")))
        if key in ("x..y", "x."):
            self.refusal = "not the name of an option"

    def contradict(self):
        key, value = self.rng.choice(self.options)
        kind = self.rng.random()
        if kind < 0.3:
            self.options.append((key, value))
        elif kind < 0.6:
            self.options.append((key, value + b"x"))
            self.refusal = "given twice"
        else:
            if kind > 0.8 or "." not in key:
                self.options.append((key + ".x", b"y"))
            else:
                self.options.append((key[:key.rindex(".")], b"y"))
            self.refusal = "given both"

    def string(self):
        parts = []
        for key, value in self.options:
            key = key.encode()
            # qemu treats the first parameter specially, and a name that begins
            # with "no" as the negation of another one.
            brief = parts and self.rng.random() < 0.3
            if brief and value == b"on" and not key.startswith(b"no"):
                parts.append(key)
            elif brief and value == b"off":
                parts.append(b"no" + key)
            else:
                parts.append(key + b"=" + value.replace(b",", b",,"))
        comma = b"," if self.rng.random() < 0.1 else b""
        return b",".join(parts) + comma


# ---- Comparison -----------------------------------------------------------


def unfold(value):
    """The info without the order of options in it."""
    if isinstance(value, dict):
        return {key: unfold(v) for key, v in value.items()}
    if isinstance(value, list):
        return [unfold(v) for v in value]
    if isinstance(value, str) and value.startswith("json:{\""):
        return json.loads(value[5:])
    return value


def outcome(target, *command):
    """Whether the command succeeds, and its output or its error."""
    result = run(*command)
    if result.returncode == 0:
        return True, result.stdout
    said = result.stderr.replace(target, b"IMAGE")
    return False, [line for line in said.split(b"\n")
                   if b"warning: " not in line
                   and not line.startswith(b"Please use")]


def info(options):
    """qemu-img info, which opens no backing files."""
    works, said = outcome(options[-1], "qemu-img", "info", "--output=json",
                          *options)
    return unfold(json.loads(said)) if works else said


def content(options):
    """The sum of the data that qemu-img reads, or its error."""
    if os.path.exists("out"):
        os.unlink("out")
    works, said = outcome(options[-1], "qemu-img", "convert", "-O", "raw",
                          *options, "out")
    return sum_of("-f", "raw", "out")[0] if works else said


def sum_of(*arguments):
    result = run("blksum", "--no-names", *arguments)
    if result.returncode not in (0, 2):
        raise Failure("blksum: exit status %d: %r" % (result.returncode,
                                                      result.stderr))
    return result.stdout.strip(), result.stderr


def compare(string, options, digest, said):
    asked = [b"--image-opts", string]
    wanted = [info(asked), content(asked)]
    got = [info(options), content(options)]
    if got != wanted:
        raise Failure("options %r\nexpected %s\ngot      %s" % (
            options, wanted, got))
    if isinstance(wanted[1], list):
        if digest:
            raise Failure("a sum although qemu does not open it")
    elif digest != wanted[1]:
        raise Failure("expected %s\ngot      %s: %r" % (wanted[1], digest,
                                                       said))


def one_round(rng, log):
    """Returns whether anything was compared."""
    options = Options(rng)
    string = options.string()
    if os.path.exists(log):
        os.unlink(log)
    try:
        digest, said = sum_of("--image-opts", string)
        if b"json:" in said.replace(string, b"").replace(b"/json:{}", b""):
            raise Failure("a message shows our options for qemu: %r" % said)
        if options.refusal:
            if os.path.exists(log) or digest or not said:
                raise Failure("not refused: %r" % said)
            return options.refusal.encode() in said
        if not os.path.exists(log):
            return False
        with open(log, "rb") as f:
            passed = [word for word in f.read().split(b"\0") if word]
        compare(string, passed, digest, said)
    except Failure as failure:
        raise Failure("%r\n%s" % (string, failure))
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=int(
        os.environ.get("BLKHASH_SEED") or random.randrange(1 << 32)))
    parser.add_argument("--rounds", type=int, default=int(
        os.environ.get("BLKHASH_ROUNDS") or 40))
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    print("seed %d" % arguments.seed, flush=True)

    make_images(arguments.directory)
    wrapper = os.path.join(os.path.abspath("."), "bin", "qemu-nbd")
    real = shutil.which("qemu-nbd")
    os.makedirs("bin", exist_ok=True)
    with open(wrapper, "w") as f:
        f.write(WRAPPER % real)
    os.chmod(wrapper, 0o755)
    os.environ["PATH"] = "%s:%s" % (os.path.dirname(wrapper),
                                    os.environ["PATH"])

    rounds = range(arguments.rounds)
    if arguments.only is not None:
        rounds = [arguments.only]
    compared = 0
    for n in rounds:
        rng = random.Random("%d %d" % (arguments.seed, n))
        try:
            compared += one_round(rng, wrapper + ".options")
        except Failure as failure:
            sys.exit("round %d: %s" % (n, failure))
    print("%d of %d compared" % (compared, len(rounds)))
    if arguments.only is None and (compared == 0 or
                                   compared < len(rounds) / 3 and
                                   len(rounds) >= 20):
        sys.exit("too few")


if __name__ == "__main__":
    main()

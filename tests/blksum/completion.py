#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""completion.py SHELL OPTIONS: complete command lines of blksum and
blkhash in a shell.

For test-completion-SHELL.sh, which sets the environment, and the current
directory with the files of make_names in completion-functions.sh.  OPTIONS is a
file with the options of the table.

bash and zsh run on a terminal, to which keys are sent.  "blksum" in PATH writes
its arguments to $ARGS: so a completion is compared as a program gets it,
without quotes.  fish prints its completions.
"""

import fcntl
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import termios

LIMIT = 300                     # timeout in seconds, far above a passing run

# The prompt has a number, so that a prompt that is printed again is not
# mistaken for the next one.
BASH = r"""
set +o posix
HISTFILE=
n=0 PROMPT_COMMAND='n=$((n + 1))' PS1='<ready $n>'
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
bind '"\C-xa": insert-completions'
bind '"\C-xl": possible-completions'
. "$COMPLETIONS/bash/blkhash"
"""

ZSH = r"""
n=0
precmd () { n=$((n + 1)) }
setopt prompt_subst
unsetopt prompt_sp prompt_cr beep list_beep
fpath=("$COMPLETIONS/zsh" $fpath)
autoload -Uz compinit
compinit -u -D
LISTMAX=10000
bindkey -e
unset zle_bracketed_paste
zstyle ':completion:*' completer _complete
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches:*' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert yes
bindkey '^Xa' all-matches
bindkey '^Xl' list-choices
PS1='<ready $n>'
"""

ALL, LIST = "\x18a", "\x18l"    # keys: insert all completions, show them


class Terminal:
    """A shell on a terminal."""

    def __init__(self, command, rc_path, rc):
        self.args = os.environ["ARGS"]
        with open(rc_path, "w") as f:
            f.write(rc)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            size = struct.pack("HHHH", 100, 160, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.environ["TERM"] = "linux"
            os.execvp(command[0], command)
        self.seen = ""
        self.prompts = 0
        self.wait()

    def wait(self):
        """Wait for the next prompt.  Returns the output before it."""
        self.prompts += 1
        prompt = "<ready %d>" % self.prompts
        while prompt not in self.seen:
            if not select.select([self.fd], [], [], LIMIT)[0]:
                sys.exit("no more output: %r" % self.seen[-2000:])
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                sys.exit("the shell has ended: %r" % self.seen[-2000:])
            self.seen += data.decode(errors="replace")
        shown, self.seen = self.seen.split(prompt, 1)
        return shown

    def end(self):
        os.close(self.fd)       # sends SIGHUP to the shell
        os.waitpid(self.pid, 0)

    def run(self, keys):
        """Type KEYS and Return.  Returns the arguments of blksum."""
        with open(self.args, "w"):
            pass
        os.write(self.fd, keys.encode() + b"\r")
        self.shown = self.wait()
        with open(self.args) as f:
            return f.read().split("\0")[:-1]

    def offers(self, before, word):
        args = self.run(before + word + ALL)
        return args[len(shlex.split(before)) - 1:]

    def shows(self, line):
        self.run(line + LIST)
        return self.shown


class Bash(Terminal):
    def __init__(self, more=""):
        # With --posix it reads this file, and none of the system's.
        os.environ["ENV"] = os.environ["HOME"] + "/rc"
        super().__init__(["bash", "--posix", "-i"], os.environ["ENV"],
                         BASH + more)

    def offers(self, before, word):
        """bash completes the part after ":" and "=", and inserts all
        completions one after the other."""
        head = re.match("([^'\"]*[:=])?", word).group(1) or ""
        return [w if w.startswith(head) else head + w
                for w in super().offers(before, word)]


class Zsh(Terminal):
    def __init__(self):
        super().__init__(["zsh", "-d", "-i"], os.environ["HOME"] + "/.zshrc",
                         ZSH)


class Fish:
    def __init__(self):
        self.shown = ""

    def offers(self, before, word):
        script = """set fish_complete_path $COMPLETIONS/fish
                    complete -C $argv[1]"""
        self.shown = subprocess.run(
            ["fish", "--no-config", "-c", script, before + word],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, timeout=LIMIT).stdout
        words = [line.split("\t")[0] for line in self.shown.splitlines()]
        # Omit those that contain WORD elsewhere, which fish offers if there are
        # no others.
        start = re.sub("\\\\(.)|[\"']", r"\1", word)
        return [w for w in words if w.startswith(start)]

    def shows(self, line):
        self.offers(line, "")
        return self.shown


def fail(shell, line, expected, got):
    print("FAIL: %r\n  expected %r\n  got      %r" % (line, expected, got))
    print("  shown    %r" % shell.shown[-2000:])
    return 1


def check_offers(shell, before, word, expected):
    """All completions of WORD, without those that depend on user knowledge,
    such as whether it is a directory."""
    print("+ %s%s" % (before, word))
    got = sorted(w.rstrip("/") for w in shell.offers(before, word))
    if expected == [] and got == [word.strip("\"'")][:len(word)]:
        got = []                # the line is unchanged
    if got != sorted(expected):
        return fail(shell, before + word, sorted(expected), got)
    return 0


def lines_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.splitlines()


def check_options(shell, table):
    """Each option, completed alone, and its help."""
    failed = 0
    said = [line.split("\t")
            for line in lines_of("real-blksum", "--complete", "--")[1:]]
    # Options with an optional argument are listed twice.
    table += [name for name, text in said if name.endswith("=")]
    names = [o for o in table if o.startswith("--")]
    failed += check_offers(shell, "blksum ", "-", table)
    for name in ["--"] + [o for o in names if not o.endswith("=")]:
        failed += check_offers(shell, "blksum ", name,
                               [o for o in names if o.startswith(name)])
    shown = shell.shows("blksum --")
    for name, text in said:
        if not re.search(re.escape(name) + ".*" + re.escape(text), shown):
            failed += fail(shell, "blksum --", name + " " + text, shown)
    return failed


FILES = ["$HOME;`id`.raw", "-dash.raw", "a directory", "a:b=c.raw", "disk.raw",
         "grün und blau.raw", "images", "it's \"quoted\".raw", "mine.blkm",
         "mytools", "white space.raw"]


def cases(shell):
    """Yields the words before, the last one, and its completions."""
    digests = lines_of("real-blksum", "--list-digests")
    sha3 = [d for d in digests if d.startswith("sha3-")]
    formats = lines_of("real-blksum", "--complete", "-f", "")[1:]

    yield "blksum -d ", "", digests
    yield "blksum -d ", "sha3-", sha3
    yield "blksum --digest ", "sha3-", sha3
    yield "blksum ", "--digest=sha3-", ["--digest=" + d for d in sha3]
    yield "blksum ", "-dsha3-", ["-d" + d for d in sha3]
    yield "blksum -d ", "sha256/1", ["sha256/1m", "sha256/16k", "sha256/128k",
                                     "sha256/16m"]
    yield "blksum -f ", "", formats
    yield "blksum --format ", "qc", ["qcow2"]
    yield "blksum ", "--format=qc", ["--format=qcow2"]
    yield "blksum --output ", "", ["human", "json"]
    yield "blksum --size ", "", []

    # Options that were given, or cannot be combined with them.
    yield "blksum -q ", "--qu", ["--queue-size"]
    yield "blksum --queue-size 1m ", "--qu", ["--quiet"]
    yield "blkhash repair --from b ", "--fro", ["--from"]
    yield "blksum disk.raw --check ", "--ta", []
    yield "blksum 'white space.raw' --qui ", "--qui", []

    # Names of files: special characters are quoted.
    yield "blksum ", "", FILES
    yield "blksum disk.raw ", "d", ["disk.raw"]
    yield "blksum ", "images/", ["images/deep", "images/one.qcow2",
                                 "images/two.qcow2"]
    yield "blksum --manifest ", "m", ["mine.blkm", "mytools"]
    yield "blksum ", "--manifest=m", ["--manifest=mine.blkm",
                                      "--manifest=mytools"]
    yield "blksum ", "--manifest=images/", [
        "--manifest=images/" + f for f in ("deep", "one.qcow2", "two.qcow2")]
    yield "blksum ", "ma", ["manifest:"]
    yield "blkhash compare disk.raw ", "ma", ["manifest:"]
    yield "blkhash ", "re", ["repair"]
    yield "blkhash compare ", "di", ["disk.raw"]
    yield "blkhash update --output ", "", ["human", "json"]
    yield "blksum --check ", "ma", []
    yield "blksum --expect ", "", ["manifest:"]
    yield "blksum ", "--expect=", ["--expect=manifest:"]
    for before, prefix in (("", ""), ("--expect ", ""), ("", "--expect="),
                           ("-- ", "")):
        prefix += "manifest:"
        yield "blksum " + before, prefix + "m", [prefix + "mine.blkm",
                                                 prefix + "mytools"]
        yield "blksum " + before, prefix + "images/t", [
            prefix + "images/two.qcow2"]
    yield "blksum ", "it", ["it's \"quoted\".raw"]
    yield "blksum ", "manifest:it", ["manifest:it's \"quoted\".raw"]
    yield "blksum ", "manifest:w", ["manifest:white space.raw"]
    yield "blksum ", "manifest:a\\ directory/", [
        "manifest:a directory/in it.blkm"]
    yield "blksum ", "\"manifest:a directory/", [
        "manifest:a directory/in it.blkm"]
    yield "blksum ", "'manifest:w", ["manifest:white space.raw"]
    if shell != "fish":         # in fish a path begins after the last ":"
        yield "blksum ", "manifest:a:", ["manifest:a:b=c.raw"]
    yield "blksum ", "manifest:-d", ["manifest:-dash.raw"]

    # "--" ends the options, and an argument may begin with "-".
    yield "blksum -- ", "-", ["-dash.raw"]
    yield "blksum --quiet -- ", "--", []
    yield "blksum --manifest ", "-d", ["-dash.raw"]
    yield "blksum --manifest -- ", "--digest", ["--digest"]

    # The program on the command line is run.
    yield "mytools/blksum ", "--fr", ["--from-here"]


# Keys, and the arguments of blksum: a unique word is completed, with a space if
# another word can follow.
TYPED = [
    ("blksum --dig\tblake2b5\tdi\t", ["--digest", "blake2b512", "disk.raw"]),
    ("blksum --output=j\tdi\t", ["--output=json", "disk.raw"]),
    ("blksum --expect man\tmi\tdi\t", ["--expect", "manifest:mine.blkm",
                                       "disk.raw"]),
    ("blksum --expect=man\twh\t", ["--expect=manifest:white space.raw"]),
    ("blksum man\tim\ttw\tdi\t", ["manifest:images/two.qcow2", "disk.raw"]),
    ("blksum manifest:a\\ \tin\tdi\t", ["manifest:a directory/in it.blkm",
                                        "disk.raw"]),
    ("blkhash co\tdi\tman\tmi\t", ["compare", "disk.raw",
                                    "manifest:mine.blkm"]),
    ("blksum wh\tdi\t", ["white space.raw", "disk.raw"]),
    ("blksum it\tdi\t", ["it's \"quoted\".raw", "disk.raw"]),
    ("blksum \"manifest:wh\tdi\t", ["manifest:white space.raw", "disk.raw"]),
    ("blksum \\$\tdi\t", ["$HOME;`id`.raw", "disk.raw"]),
    ("blksum --manifest=\\$\tdi\t", ["--manifest=$HOME;`id`.raw", "disk.raw"]),
    ("blksum manifest:\\$\tdi\t", ["manifest:$HOME;`id`.raw", "disk.raw"]),
    ("blksum grün\t manifest:gr\t\tdi\t",
     ["grün und blau.raw", "manifest:grün und blau.raw", "disk.raw"]),
    ("blksum --que\t1m", ["--queue-size", "1m"]),
    ("blksum -- -d\tdi\t", ["--", "-dash.raw", "disk.raw"]),
    ("blksum sha1\x02\x02\x02\x02 \x02--dig\t", ["--digest", "sha1"]),
    ("true; blksum --ta\tdi\t", ["--tag", "disk.raw"]),
    ("LC_ALL=C blksum --ta\tdi\t", ["--tag", "disk.raw"]),
    ("blksum di\t > /dev/nu\t", ["disk.raw"]),
]


def check_typed(shell):
    failed = 0
    for keys, expected in TYPED:
        print("+ %r" % keys)
        got = shell.run(keys)
        if got != expected:
            failed += fail(shell, keys, expected, got)
    return failed


def main():
    shell = {"bash": Bash, "zsh": Zsh, "fish": Fish}[sys.argv[1]]()
    with open(sys.argv[2]) as f:
        table = f.read().split()
    failed = check_options(shell, table)
    for before, word, expected in cases(sys.argv[1]):
        failed += check_offers(shell, before, word, expected)
    if not isinstance(shell, Fish):
        failed += check_typed(shell)
        shell.end()
    if isinstance(shell, Bash):
        # Settings that some users have: no word breaks, and all shown at once.
        shell = Bash("COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]/}\n"
                     "bind 'set show-all-if-ambiguous on'\n")
        failed += check_typed(shell)
        shell.end()
    sys.exit(1 if failed else 0)


main()

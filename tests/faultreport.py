# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report of make check-campaign: how many faults ended in which way."""

import os
import sys

COLUMNS = "faults", "right", "errors", "wrong", "hangs", "orphans", "leaks"
ENDS = 4                        # the columns that faults are the sum of


def add(kind, right, errors=0, wrong=0, hangs=0, orphans="-", leaks="-"):
    """Add the FAULTS of a program to the file $BLKHASH_REPORT, if it is set.

    RIGHT runs gave the right answer, ERRORS reported an error and no sum, WRONG
    gave a wrong answer, or lost or left something, and HANGS waited longer than
    their limit.  ORPHANS of the wrong ones left a process, and LEAKS memory or
    descriptors; "-" if that was not looked for.
    """
    path = os.environ.get("BLKHASH_REPORT")
    if path:
        with open(path, "a") as f:
            print(kind, right, errors, wrong, hangs, orphans, leaks, sep="\t", file=f)


def total(column):
    numbers = [int(n) for n in column if n != "-"]
    return sum(numbers) if numbers else "-"


def main():
    """Print the file as a table in Markdown."""
    rows = {}
    with open(sys.argv[1]) as f:
        for line in f:
            kind, *numbers = line.rstrip("\n").split("\t")
            old = rows.get(kind)
            rows[kind] = [total(pair) for pair in zip(old, numbers)] \
                if old else numbers
    rows["all"] = [total(column) for column in zip(*rows.values())]
    print("| fault |", " | ".join(COLUMNS), "|")
    print("|---" * (1 + len(COLUMNS)) + "|")
    for kind, row in rows.items():
        print("|", kind, "|", " | ".join(map(str, [
            total(row[:ENDS])] + list(row))), "|")


if __name__ == "__main__":
    main()

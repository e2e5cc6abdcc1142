# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report of make check-campaign: how many faults ended in which way."""

import os
import sys

COLUMNS = "faults", "right", "errors", "wrong", "hangs"


def add(kind, right, errors=0, wrong=0, hangs=0):
    """Add the FAULTS of a program to the file $BLKHASH_REPORT, if it is set.

    RIGHT runs gave the right answer, ERRORS reported an error and no sum, WRONG
    gave a wrong answer, or lost or left something, and HANGS waited longer than
    their limit.
    """
    path = os.environ.get("BLKHASH_REPORT")
    if path:
        with open(path, "a") as f:
            print(kind, right, errors, wrong, hangs, sep="\t", file=f)


def main():
    """Print the file as a table in Markdown."""
    rows = {}
    with open(sys.argv[1]) as f:
        for line in f:
            kind, *numbers = line.rstrip("\n").split("\t")
            old = rows.get(kind, [0] * len(numbers))
            rows[kind] = [a + int(b) for a, b in zip(old, numbers)]
    rows["all"] = [sum(column) for column in zip(*rows.values())]
    print("| fault |", " | ".join(COLUMNS), "|")
    print("|---" * (1 + len(COLUMNS)) + "|")
    for kind, row in rows.items():
        print("|", kind, "|", " | ".join(map(str, [sum(row)] + row)), "|")


if __name__ == "__main__":
    main()

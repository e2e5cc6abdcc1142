# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""For tests of random images: the arguments, and a random generator for each
round, so that a round can be repeated alone."""

import argparse
import os
import random
import sys


def parse(default):
    """Returns arguments with a directory, the seed, and the numbers of the
    rounds, which are DEFAULT many unless BLKHASH_ROUNDS is set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=int(
        os.environ.get("BLKHASH_SEED") or random.SystemRandom().getrandbits(32)))
    parser.add_argument("--rounds", type=int, default=int(
        os.environ.get("BLKHASH_ROUNDS") or default))
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    arguments.numbers = range(arguments.rounds)
    if arguments.only is not None:
        arguments.numbers = [arguments.only]
    return arguments


def run(arguments, failures, check):
    """Call CHECK with a random generator for each round, and exit if it raises
    one of FAILURES."""
    print("seed %d" % arguments.seed)
    for number in arguments.numbers:
        print("round %d" % number, flush=True)
        try:
            check(random.Random("%d/%d" % (arguments.seed, number)))
        except failures as failure:
            sys.exit("FAIL: --seed %d --only %d: %s"
                     % (arguments.seed, number, failure))

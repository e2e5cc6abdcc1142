#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random servers with the filter, and random clients of them, compared with the
reference.

Each run is a random stack (stacks.py) and some crowds of clients (clients.py),
several at a time, which connect, write, read, disconnect, break off and are
killed; then the server is ended by a signal, while clients are connected or
not.

A sum that is in the result file when all connections are closed must be that of
the disk: of what a new connection reads at blkhash's place in the stack, and,
after the end, of the content of the image.  The manifest must be that of
refmanifest.py.  Nothing else is predicted, with two exceptions: after a change
was acknowledged there is no sum of this name, and a single client that behaves
well, or a program that copies, gets a sum.

    campaign.py --filter FILE.so --snapshot PLUGIN.so

BLKHASH_SEED is the seed of the first run, BLKHASH_ROUNDS the number of runs.  A
run that fails prints its seed, and leaves its files in the directory
BLKHASH_KEEP if that is set.  At the end it prints how often there was a sum,
and for which reasons there was none.
"""

import argparse
import collections
import os
import resource
import shutil
import sys
import tempfile
import time

import faultreport
import stacks
from run import Run
from server import Discarded, Failed, keep_files


def one_run(args, seed, tally):
    """Returns None, or the failure."""
    directory = tempfile.mkdtemp(prefix="campaign-")
    try:
        run = Run(args, seed, directory, tally)
        print(run.describe(), flush=True)
        try:
            run.run()
            tally["runs"] += 1
        except Discarded as e:
            tally["discarded"] += 1
            print("discarded:", e, flush=True)
        except Failed as e:
            keep_files(directory, seed)
            return "%s\n%s" % (run.describe(), e)
        finally:
            run.clean_up()
    finally:
        shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--snapshot", required=True)
    parser.add_argument("--wrapper", default="")
    args = parser.parse_args()
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 40)
    tally, failures = collections.Counter(), []
    resource.setrlimit(resource.RLIMIT_CORE,
                       (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    with tempfile.TemporaryDirectory(prefix="campaign-") as common:
        # The thread of TSan itself.
        args.more_threads = "libtsan" in args.wrapper
        args.sanitizer = "LD_PRELOAD" in args.wrapper
        # With a preloaded sanitizer, programs of scripts can fail.
        args.modules = stacks.find_modules(common, args.snapshot,
                                           not args.sanitizer)
        for i in range(seed, seed + rounds):
            failure = one_run(args, i, tally)
            if failure:
                failures.append(failure)
                print("FAIL:", failure, flush=True)
    for what, number in sorted(tally.items()):
        print("%6d %s" % (number, what))
    faultreport.add("clients, servers and plugins that fail: blkhash filter",
                    tally["runs"], 0, len(failures))
    if failures:
        print("%d of %d runs failed: %s" % (len(failures), rounds, " ".join(
            f.split()[1].rstrip(":") for f in failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# plot makes a PNG of each result, except those of benchmarks without a graph.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "a test of scripts"
[ "$PYTHON" != no ] || skip "python3 is missing"
requires "$PYTHON" -c 'import matplotlib'
bench=$abs_top_srcdir/tests/bench
MPLCONFIGDIR=$dir/matplotlib
export MPLCONFIGDIR

for name in data zero hole null digest; do
  run 0 "$PYTHON" "$bench/bench-$name" --build "$abs_top_builddir" \
    --output "$dir/results" --runs 1 --seconds 0.001
done
# Results in the format of hyperfine.
"$PYTHON" - "$dir/results" << 'END_OF_RESULTS'
import json, sys
with open(sys.argv[1] + "/data.json") as f:
    machine = json.load(f)["machine"]
time = {"size": 1 << 30, "time": 1.5, "user": 1, "system": 0.5, "runs": []}
results = {
    "blksum": [{"section": "formats", "image": "25p", "name": "raw",
                "peak-memory": 1, **time},
               {"section": "formats", "image": "25p", "name": "b3sum", **time},
               {"section": "data", "image": "25p", "name": "raw",
                "peak-memory": 1, **time},
               {"section": "threads", "image": "25p", "name": "1", **time},
               {"section": "threads", "image": "25p", "name": "2", **time}],
    "blksum-cold": [{"section": "data", "image": image, "name": "raw",
                     "peak-memory": 1, **time}
                    for image in ("empty", "10p", "80p", "full")],
    "filter": [{"image": "full", "name": "no filter", **time},
               {"image": "full", "name": "filter", **time}],
    "latency": [{"section": section, "storage": storage, "name": "blksum",
                 "throughput": 1e6, "runs": [time]}
                for section in ("file", "nbd", "large")
                for storage in ("0 ms", "5 ms", "5 ms at 400 MB/s")],
    **{name: [] for name in ("jobs", "peers", "requests", "verify")},
}
for name, result in results.items():
    with open("%s/%s.json" % (sys.argv[1], name), "w") as f:
        json.dump({"benchmark": name, "machine": machine,
                   "parameters": {}, "results": result}, f)
END_OF_RESULTS

run 0 "$PYTHON" "$bench/plot" --output "$dir/graphs" "$dir"/results/*.json
for name in data zero hole null digest digest-batch blksum-25p \
            blksum-threads blksum-cold-data filter latency-file latency-nbd; do
  "$PYTHON" -c 'import sys
sys.exit(open(sys.argv[1], "rb").read(8) != b"\x89PNG\r\n\x1a\n")' \
    "$dir/graphs/$name.png" || fail "no PNG of $name"
done
[ ! -e "$dir/graphs/blksum-data.png" ] || fail "a graph of one image"
for name in jobs peers requests verify; do
  grep -qx "$dir/results/$name.json: plot has no graph of $name" \
    "$dir/stderr" || fail "no line that there is no graph of $name"
  [ ! -e "$dir/graphs/$name.png" ] || fail "a graph of $name"
done

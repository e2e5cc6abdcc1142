#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The containers of the Jobs in examples/kubernetes hash a disk in parts and
# merge them, and can run again.  Values that must agree between two places do.
# This runs no cluster: test-kubernetes-schema.sh validates the files by the
# schemas of Kubernetes.

. "$(dirname "$0")/../functions.sh"
requires "$PYTHON" -c "import yaml"
cd "$dir"
jobs=$abs_top_srcdir/examples/kubernetes

# ---- Values in two places ----

version=$(blksum --version | sed 's/.* //')
for file in "$jobs"/*.yaml "$abs_top_srcdir/packaging/Containerfile"; do
  grep -q "blksum:$version\( \|$\)" "$file" || fail "not $version: $file"
done

"$PYTHON" - "$jobs/parts.yaml" "$jobs/merge.yaml" << 'END' || fail "see above"
import sys, yaml

parts, merge = (yaml.safe_load(open(name)) for name in sys.argv[1:])


def pod(job):
    return job["spec"]["template"]["spec"]


def container(job):
    return pod(job)["containers"][0]


def variable(job, name):
    return {v["name"]: v["value"] for v in container(job)["env"]}[name]


def claim(job, path):
    """The claim that is mounted where PATH is."""
    name, = (m["name"] for m in container(job)["volumeMounts"]
             if path.startswith(m["mountPath"] + "/") or path == m["mountPath"])
    volume, = (v for v in pod(job)["volumes"] if v["name"] == name)
    return volume["persistentVolumeClaim"]["claimName"]


spec = parts["spec"]
assert spec["completionMode"] == "Indexed"
assert spec["completions"] == int(variable(parts, "PARTS"))
assert spec["parallelism"] < spec["completions"]
assert container(parts)["resources"]["requests"]["cpu"] == \
    variable(parts, "THREADS")
rule, = (r for r in spec["podFailurePolicy"]["rules"] if "onExitCodes" in r)
assert rule["action"] == "FailIndex"
codes = rule["onExitCodes"]
assert codes["containerName"] == container(parts)["name"]
assert (codes["operator"], codes["values"]) == ("In", [1])
assert claim(parts, variable(parts, "DIR")) == \
    claim(merge, variable(merge, "DIR")) != \
    claim(parts, variable(parts, "DISK"))
for job in parts, merge:
    assert pod(job)["restartPolicy"] == "Never"
    assert pod(job)["securityContext"]["runAsNonRoot"] is True
for same in "image", "name", "securityContext":
    assert container(parts)[same] == container(merge)[same], same
assert pod(parts)["securityContext"] == pod(merge)["securityContext"]
END

# ---- Commands of the containers ----

truncate -s 2g disk.img
for at in 0 70000000 1073000000 2147000000; do
  write_data disk.img $at 400000
done
sum=$(reference disk.img)
mkdir parts

# part INDEX: runs the container of one part.
part () {
  "$PYTHON" "$abs_top_srcdir/tests/docs/run-container.py" "$jobs/parts.yaml" \
    DISK="$dir/disk.img" DIR="$dir/parts" JOB_COMPLETION_INDEX=$1
}

merge () {
  "$PYTHON" "$abs_top_srcdir/tests/docs/run-container.py" "$jobs/merge.yaml" \
    DIR="$dir/parts"
}

# parts INDEX...: runs the containers of these parts, which print nothing.
parts () {
  for index; do
    run 0 part $index
    [ ! -s stdout ] && [ ! -s stderr ] || fail "unexpected output"
  done
}

parts 31 $(seq 0 16) $(seq 18 30)
refuses "67108864 bytes at $((17 << 26)) are missing" merge
parts $(seq 0 31)
run 0 merge
echo "blk-sha256/64k (manifest:$dir/parts/disk.blkm) = $sum" | diff - stdout ||
  fail "the sum differs"
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write disk.img |
  cmp - parts/disk.blkm || fail "the manifest differs"

# A container that exits with status 2 is retried.
rm parts/*-000004-*
mv disk.img elsewhere
refuses "No such file" part 4
mv elsewhere disk.img
parts 4
run 0 merge

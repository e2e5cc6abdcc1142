#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Python module is typed: mypy finds no error in it, for the oldest and the
# newest Python, nor in the examples and a program that uses all of it; and finds
# the errors of a wrong one.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"
requires_program mypy

[ -e "$abs_top_srcdir/python/blkhash/py.typed" ] || fail "no py.typed"
check="mypy --strict --cache-dir $dir/cache"
for version in 3.9 3.11; do
  run 0 $check --python-version $version "$abs_top_srcdir/python/blkhash"
done

# MYPYPATH instead of PYTHONPATH: mypy reads the source like a package that is
# installed.
export MYPYPATH="$abs_top_srcdir/python"
for version in 3.9 3.11; do
  run 0 $check --python-version $version "$abs_top_srcdir"/examples/python/*.py
done
cat > "$dir/right.py" << 'END_OF_PROGRAM'
import mmap
from pathlib import Path
from typing import FrozenSet, List, Optional, Tuple

import blkhash

digests: FrozenSet[str] = blkhash.digests_available
h: blkhash.Hash = blkhash.new("sha256/64k", b"x", threads=2)
h.update(bytearray(b"x"))
h.update(memoryview(b"x"))
h.update(mmap.mmap(-1, 1))
h.zero(1)
digest: bytes = h.digest()
words: Tuple[str, str, str, int, int] = (
    h.hexdigest(), h.name, h.tag(), h.digest_size, h.block_size)
with blkhash.Leaves("sha256/64k", 100) as t:
    t.put(0, b"x")
    t.zero(1, 99)
    t.put_leaves(0, bytes(32))
    missing: List[Tuple[int, int]] = t.missing()
    digest = t.sum()
    digest = t.write_manifest(Path("x"))
m = blkhash.Manifest("x", verify=False, max_blocks=None)
m = blkhash.Manifest(0)
digest = m.sum
leaf: Tuple[int, int, Optional[bytes]]
for leaf in m.leaves():
    pass
try:
    for start, length in m.differences(m):
        size: int = start + length + m.size + m.block_size
except blkhash.UnknownDifference as e:
    size = e.start + e.length
except (blkhash.ManifestError, blkhash.IncompleteError):
    pass
found: blkhash.Sum = blkhash.parse_sum("x")
name: Optional[str] = found.name or found.spec
digest = found.digest
END_OF_PROGRAM
run 0 $check "$dir/right.py"

cat > "$dir/wrong.py" << 'END_OF_PROGRAM'
import blkhash
blkhash.new(1)
blkhash.new("sha256").update("text")
blkhash.Leaves("sha256")
blkhash.Leaves("sha256", "1")
blkhash.Manifest("x").leaves().digest
blkhash.Manifest("x").differences("y")
blkhash.parse_sum(b"x")
END_OF_PROGRAM
run 1 $check "$dir/wrong.py"
[ "$(cut -d : -f 2 "$dir/stdout" | sort -u | grep -c '^[2-8]$')" = 7 ] ||
  fail "not an error in each line"

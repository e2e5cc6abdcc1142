#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The benchmark of the verify filter, with small disks: all its cases are in the
# table.  Nothing here looks at a speed.

filter_name=blkhash-verify
. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
requires_nbdkit memory
[ "$PYTHON" != no ] || skip "python3 is missing"
for program in hyperfine nbdcopy openssl; do
  command -v $program > /dev/null || skip "$program is missing"
done
[ -x "$(real_program ./bench/nbd-bench)" ] || skip "built without libnbd"

bench=$abs_top_srcdir/tests/bench
mkdir "$dir/disks"
run 0 "$PYTHON" "$bench/bench-verify" --build "$abs_top_builddir" \
  --output "$dir/results" --runs 2 --size 20 --blocks 1000 --seconds 0.01 \
  "$dir/disks"
[ -z "$(ls "$dir/disks")" ] || fail "left $(ls "$dir/disks")"
run 0 "$PYTHON" "$bench/bench-report" "$dir/results/verify.json"
[ "$(grep -c '^| start ' "$dir/stdout") \
$(grep -c '^| copy ' "$dir/stdout") \
$(grep -c '^| reads ' "$dir/stdout")" = "2 2 6" ] || fail "no table of ten rows"

# What manifest-bench writes is a manifest with its sum, which the library finds.
manifest_bench=$(real_program ./bench/manifest-bench)
run 0 "$manifest_bench" --blocks 100000 --zeros 5 "$dir/manifest"
sum=$(sed -n 's/.*"sum": "\(.*\)".*/\1/p' "$dir/stdout")
serve memory $((100005 * 65536)) blkhash-verify-manifest="$dir/manifest" \
      blkhash-verify-sum="$sum"
stop
run 0 "$manifest_bench" --read "$dir/manifest"
run 1 "$manifest_bench" --read "$dir/none"
run 2 "$manifest_bench"
echo x >> "$dir/manifest"
run 1 "$manifest_bench" --read --no-sum "$dir/manifest"

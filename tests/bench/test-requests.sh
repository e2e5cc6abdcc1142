#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The benchmark of the filter with many small requests completes all of them,
# and prints a table.  Speeds are not tested.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
program=$(real_program ./bench/nbd-bench)
[ -x "$program" ] || skip "built without libnbd"

# nbd_bench ARGUMENT...: runs it with the server $uri.
nbd_bench () {
  run 0 $wrapper "$program" "$@"
}

# requests N: the result has that many requests.
requests () {
  grep -q "\"requests\": $1,\$" "$dir/stdout" || fail "not $1 requests"
}

# All data that was written is on the disk, and in the sum.
truncate -s 1m "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums"
head -c 1048576 /dev/zero | tr '\0' U > "$dir/data"
nbd_bench --operation write --connections 4 --in-flight 3 --request-size 4k \
          --once "$uri"
requests 256
cmp "$dir/disk" "$dir/data" || fail "the disk does not have the data"
wait_for_sum "$dir/data"
nbd_bench -c 3 -r 64k -1 "$uri"
requests 15
nbd_bench -T 0.01 "$uri"
nbd_bench -T 0.01 -R -c 3 "$uri"
nbd_bench -o zero -c 2 -r 512k -1 "$uri"
requests 2
truncate -s 1m "$dir/zeros"
cmp "$dir/disk" "$dir/zeros" || fail "the disk is not zero"

# refused STATUS REGEX ARGUMENT...: fails with a matching error.
refused () {
  refused_status=$1 regex=$2
  shift 2
  run $refused_status "$program" "$@"
  [ ! -s "$dir/stdout" ] && grep -q "^nbd-bench: .*$regex" "$dir/stderr" ||
    fail "does not say '$regex'"
}
refused 2 "read, write or zero" -o reads "$uri"
refused 2 "request size" -r 0 "$uri"
refused 2 "in order" -R -1 "$uri"
refused 2 "URI"
refused 1 "too small" -r 1m -c 2 "$uri"
refused 1 "nbd_connect_uri" "nbd+unix:///?socket=$dir/none"
start_nbdkit --filter=error memory 1M error-pwrite-rate=100%
refused 1 "write" -o write "$uri"

[ "$PYTHON" != no ] || skip "python3 is missing"
bench=$abs_top_srcdir/tests/bench
run 0 "$PYTHON" "$bench/bench-requests" --build "$abs_top_builddir" \
  --output "$dir/results" --runs 2 --seconds 0.01
run 0 "$PYTHON" "$bench/bench-report" "$dir/results/requests.json"
[ "$(grep -c -e '^| read ' -e '^| write ' "$dir/stdout")" = 10 ] ||
  fail "no table of ten rows"

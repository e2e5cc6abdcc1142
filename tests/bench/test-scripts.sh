#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The benchmark scripts that need only our programs write results with the
# machine and all cases, and bench-report makes tables from them.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "a test of scripts"
[ "$PYTHON" != no ] || skip "python3 is missing"
bench=$abs_top_srcdir/tests/bench

for script in bench-also bench-blksum bench-data bench-digest bench-filter \
              bench-hole bench-jobs bench-lanes bench-latency bench-null \
              bench-passes bench-peers bench-python bench-report bench-requests \
              bench-verify bench-zero make-images plot; do
  run 0 "$PYTHON" "$bench/$script" --help
  grep -q "^usage: $script" "$dir/stdout" || fail "$script has no help"
done

# measure NAME CASES: a short run writes that many cases, of the right kind.
measure () {
  run 0 "$PYTHON" "$bench/bench-$1" --build "$abs_top_builddir" \
    --output "$dir/results" --runs 2 --seconds 0.001
  "$PYTHON" - "$dir/results/$1.json" "$1" "$2" << 'END_OF_CHECK' ||
import json, sys
result = json.load(open(sys.argv[1]))
assert result["benchmark"] == sys.argv[2]
assert {"cpu", "cores", "system", "date", "commit",
        "BLKHASH_CPU"} <= set(result["machine"]), result["machine"]
assert result["parameters"]["runs"] == 2
assert len(result["results"]) >= int(sys.argv[3]), len(result["results"])
for r in result["results"]:
    assert len(r["runs"]) == 2 and r["throughput"] >= 0, r
    for run in r["runs"]:
        assert run["digest-name"] == r["case"]["digest-name"], r
END_OF_CHECK
    fail "bench-$1 wrote other cases"
}
BLKHASH_CPU=none
export BLKHASH_CPU
measure data 2
unset BLKHASH_CPU
grep -q '"BLKHASH_CPU": "none"' "$dir/results/data.json" ||
  fail "BLKHASH_CPU is not in the result"
measure zero 2
measure hole 4
measure null 2
measure digest 20

# Results of hyperfine before version 2, and since.
PYTHONPATH=$bench "$PYTHON" - << 'END_OF_CHECK' || fail "hyperfine's results"
import bench, json
for text in ("""{"mean": 9, "user": 2.5, "system": 0.25, "times": [3.5]}""",
             """{"measurements": [{
                  "time_wall_clock": {"value": 3.5, "unit": "second"},
                  "time_cpu": {"value": 2.75, "unit": "second"},
                  "time_user": {"value": 2.5, "unit": "second"},
                  "time_system": {"value": 0.25, "unit": "second"},
                  "exit_code": 0}],
                 "summary": {"time_user": {"mean": 9}}}"""):
    got = bench.only_run(json.loads(text))
    assert got == {"time": 3.5, "user": 2.5, "system": 0.25}, got
END_OF_CHECK

# bench-lanes prints its tables: a row for each family of a digest that OpenSSL
# has too, and a row for each number of blocks.  The short form does not run it.
if is_long && [ -n "$(./lane-kernels)" ]; then
  run 0 "$PYTHON" "$bench/bench-lanes" --build "$abs_top_builddir" \
    --runs 1 --seconds 0.001 --turns 1 --all
  for digest in $(./lane-kernels | sed 's/ .*//' | sort -u); do
    [ "$digest" != blake2b-256 ] || continue
    grep -q "^| $digest | all |" "$dir/stdout" || fail "no row of $digest"
  done
  ./lane-kernels | sed 's/-x[0-9a-z]*$//' | sort -u | while read -r digest family; do
    [ "$digest" != blake2b-256 ] || continue
    grep -q "^| $digest | $family |" "$dir/stdout" || fail "no $family"
  done
  grep -q "^| blake2b-256 |" "$dir/stdout" && fail "a row without OpenSSL"
  [ "$(grep -c '^| [0-9]* | .* | .* | .* | .* |$' "$dir/stdout")" = \
    "$(./lane-kernels | sed 's/ .*//' | sort -u | wc -l | \
       awk '{ print 64 * $1 }')" ] || fail "not a row for each number of blocks"
fi
BLKHASH_CPU=none run 1 "$PYTHON" "$bench/bench-lanes" \
  --build "$abs_top_builddir"

# bench-python prints a row for each kind of call and number of threads.
run 0 "$PYTHON" "$bench/bench-python" --build "$abs_top_builddir" \
  --runs 1 --size 1
[ "$(grep -c '^| [a-z]*, threads: [12] |' "$dir/stdout")" = 4 ] &&
  grep -q '^| scaling of put |' "$dir/stdout" || fail "bench-python: other rows"

# bench-also prints a row for each comparison.
if command -v openssl > /dev/null; then
  run 0 "$PYTHON" "$bench/bench-also" --build "$abs_top_builddir" \
    --runs 1 --size 8 "$dir"
  for name in sha256 md5,sha256 holes; do
    grep -q "^$name  *[0-9.]*  peak" "$dir/stdout" || fail "bench-also: no $name"
  done
fi

run 0 "$PYTHON" "$bench/bench-report" "$dir"/results/*.json
for name in data zero hole null digest; do
  grep -q "^results: $name:" "$dir/stdout" || fail "no table for $name"
done
grep -q "^| NULL-MEMCPY |" "$dir/stdout" || fail "no memcpy"

# Numbers have no exponent.
"$PYTHON" - "$dir/results" << 'END_OF_RESULT'
import json, sys
with open(sys.argv[1] + "/hole.json") as f:
    result = json.load(f)
run = {"time": 999.6, "user": 999.4, "system": 0.00001}
result.update(benchmark="filter", results=[{
    "image": "full", "size": 1 << 30, "name": "filter", **run, "runs": [run],
    "ratio": 0.5, "added-cpu": -0.00001, "lanes": 12345}])
with open(sys.argv[1] + "/filter.json", "w") as f:
    json.dump(result, f)
END_OF_RESULT
run 0 "$PYTHON" "$bench/bench-report" "$dir/results/filter.json"
row="| full | 1 GiB | filter | 1000 | 1000 – 1000 | 999 | 0.000010 | 0.50"
row="$row | -0.000010 | 12345 |"
grep -qxF "$row" "$dir/stdout" || fail "no row '$row'"

# In a page one table is replaced, the others stay.
cat > "$dir/page.md" << 'END_OF_PAGE'
before
<!-- results: hole -->
old hole
<!-- end of results -->
between
<!-- results: blksum -->
old blksum
<!-- end of results -->
after
END_OF_PAGE
for time in once twice; do
  run 0 "$PYTHON" "$bench/bench-report" --update "$dir/page.md" \
    "$dir/results/hole.json"
  ! grep -q "old hole" "$dir/page.md" || fail "not updated"
  [ "$(grep -c '^| sha256 |' "$dir/page.md")" = 4 ] || fail "not 4 rows, $time"
  for kept in before between "old blksum" after; do
    grep -qx "$kept" "$dir/page.md" || fail "'$kept' is lost"
  done
done

# fails_with REGEX COMMAND: prints one line of error, and no traceback.
fails_with () {
  regex=$1
  shift
  run 1 "$@"
  [ "$(wc -l < "$dir/stderr")" = 1 ] && grep -q "$regex" "$dir/stderr" ||
    fail "does not say '$regex'"
}
echo '{}' > "$dir/no-result.json"
fails_with "is no result" "$PYTHON" "$bench/bench-report" "$dir/no-result.json"
fails_with "is missing in" \
  "$PYTHON" "$bench/bench-data" --build "$dir" --output "$dir/results"

# The error names what is missing, and its package.
fails_with "hyperfine is missing" env PATH="$dir/bin" "$PYTHON" \
  "$bench/bench-blksum" --build "$abs_top_builddir" "$dir"
fails_with "hyperfine is missing" env PATH="$dir/bin" "$PYTHON" \
  "$bench/bench-filter" --build "$abs_top_builddir" "$dir"
fails_with "package qemu-utils" env PATH="$dir/bin" "$PYTHON" \
  "$bench/make-images" "$dir/images"
mkdir "$dir/without"
echo 'raise ImportError ("none")' > "$dir/without/matplotlib.py"
fails_with "package python3-matplotlib" env PYTHONPATH="$dir/without" \
  "$PYTHON" "$bench/plot" "$dir/results/hole.json"

# Plain digests.
if command -v openssl > "$dir/found"; then
  run 0 "$PYTHON" "$bench/bench-also" --build "$abs_top_builddir" --runs 1 \
    --size 16 "$dir"
  [ "$(grep -c '^[a-z0-9,]* *[0-9.]*\( \|$\)' "$dir/stdout")" -ge 3 ] ||
    fail "bench-also measured other cases"
fi

# The jobs of blksum, compared with the same build.
run 0 "$PYTHON" "$bench/bench-jobs" --build "$abs_top_builddir" \
  --vs "$abs_top_builddir" --output "$dir/results" --runs 1 --size 16 "$dir"
[ "$(grep -c "^[a-z].* time .* cpu .* peak " "$dir/stdout")" = 24 ] ||
  fail "bench-jobs measured other jobs"
# jobs_rows REGEX: the table has a row for each of 8 jobs and 3 block sizes, and
# REGEX matches all of them.
jobs_rows () {
  run 0 "$PYTHON" "$bench/bench-report" "$dir/results/jobs.json"
  [ "$(grep -c "^| [a-z]* | [0-9]* | $1 |$" "$dir/stdout")" = 24 ] ||
    fail "the table of the jobs does not have 24 rows"
}
number="[0-9.]*"
jobs_rows "$number | $number | $number | $number | $number | $number"
run 0 "$PYTHON" "$bench/bench-jobs" --build "$abs_top_builddir" \
  --output "$dir/results" --runs 1 --size 16 "$dir"
jobs_rows "$number | $number | $number"

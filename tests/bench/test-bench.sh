#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The benchmark programs compute known answers, and print JSON with exactly the
# keys that docs/benchmarking.md names.  Speeds are not tested.

. "$(dirname "$0")/../functions.sh"
[ "$PYTHON" != no ] || skip "python3 is missing"

for program in blkhash-bench cache digest-bench lanes-bench zero-bench; do
  cat > "$dir/bin/$program" << END_OF_PROGRAM
#!/bin/sh
exec $(echo $wrapper) $(real_program "./bench/$program") "\$@"
END_OF_PROGRAM
  chmod +x "$dir/bin/$program"
done

# has KEY VALUE: the last JSON has this value.
has () {
  "$PYTHON" -c 'import json, sys
got = json.load(open(sys.argv[1])).get(sys.argv[2])
sys.exit("got %r" % got if str(got) != sys.argv[3] else 0)' \
    "$dir/stdout" "$1" "$2" || fail "$1 is not $2"
}

# has_keys KEY...: the last JSON has exactly these keys, in this order.
has_keys () {
  "$PYTHON" -c 'import json, sys
got = list(json.load(open(sys.argv[1])))
sys.exit("got %s" % got if got != sys.argv[2:] else 0)' \
    "$dir/stdout" "$@" || fail "the keys are not $*"
}

# ---- blkhash-bench ----

known=2a6d5ed17da97865da0fd3ca9a792f3bfaf325940c44fd6a2f0a224a051eb6f0
for threads in 1 2 3 4 8 31 64 128; do
  run 0 blkhash-bench -s 1m -t $threads
  has checksum $known
  has threads $threads
done
has_keys input-type digest-name timeout-seconds input-size aio queue-depth \
         block-size read-size hole-size threads streams total-size elapsed \
         throughput checksum
has input-size 1048576
has streams 64
has total-size 1048576

# The sum does not depend on the sizes of requests and the length of the queue.
for options in "-a" "-a -q 1" "-a -q 3 -r 64k -t 2" "-r 100" "-a -r 70000"; do
  run 0 blkhash-bench -s 1m $options
  has checksum $known
done
run 0 blkhash-bench --input-type data --digest-name sha256 --input-size 1m \
  --timeout-seconds 0.5 --aio --queue-depth 4 --threads 2 --streams 64 \
  --block-size 64k --read-size 128k --hole-size 1m
has checksum $known
has aio True
has queue-depth 4
has read-size 131072

# The sum of zeros is the same as data and as a hole.
truncate -s 70000000 "$dir/hole"
for streams in 0 64; do
  expected=$(reference -s $streams "$dir/hole")
  for options in "-i hole" "-i hole -z 65537" "-i zero" "-i zero -a"; do
    run 0 blkhash-bench $options -S $streams -s 70000000
    has checksum "$expected"
    has streams $streams
  done
done
head -c 70000 /dev/zero | tr '\0' U > "$dir/data"
run 0 blkhash-bench -s 70000 -S 0 -d sha1 -b 4k
has checksum "$(reference -d sha1 -b 4k "$dir/data")"
has digest-name sha1
has block-size 4096

# The benchmark ends at the timeout; also with holes, which it never waits for.
for options in "" -a "-i zero" "-i hole" "-d null"; do
  run 0 timeout 120 blkhash-bench -T 0.1 $options
  has timeout-seconds 0.1
  has input-size 0
  # Something is hashed even if the timeout is over before the first request.
  run 0 timeout 120 blkhash-bench -T 1e-9 $options
  ! grep -q '"total-size": 0,' "$dir/stdout" || fail "measured nothing: $options"
done

# refused PROGRAM OPTION...: prints one line of error with the program's name.
refused () {
  run 2 "$@"
  [ ! -s "$dir/stdout" ] || fail "printed a result: $*"
  grep -q "^$1: " "$dir/stderr" ||
    fail "the error does not name the program: $*"
}
refused blkhash-bench -i holes
refused blkhash-bench -d nonsense
refused blkhash-bench -s 1x
refused blkhash-bench -s 1kk
refused blkhash-bench -s 16777216t
refused blkhash-bench -s -1
refused blkhash-bench -T 0
refused blkhash-bench -t 0
refused blkhash-bench -t 129
refused blkhash-bench -r 0
refused blkhash-bench -z 0
refused blkhash-bench -q 0
refused blkhash-bench 1m
run 1 blkhash-bench -b 5

# ---- digest-bench ----

run 0 digest-bench -s 1m -r 4k -t 2
has_keys digest-name timeout-seconds input-size read-size threads batch \
         total-size elapsed throughput cpu-seconds cycles-per-byte \
         openssl-throughput openssl-cpu-seconds openssl-cycles-per-byte ratio \
         checksum
has read-size 4096
has threads 2
has batch 32
has total-size 2097152
# The sum is that of a block, or with --batch 0 that of the message.
head -c 4096 /dev/zero | tr '\0' U > "$dir/block"
head -c 1048576 /dev/zero | tr '\0' U > "$dir/message"
block=$(sha256sum < "$dir/block" | cut -d' ' -f1)
message=$(sha256sum < "$dir/message" | cut -d' ' -f1)
for batch in 1 2 3 4 8 16 32 100; do
  run 0 digest-bench --batch $batch -T 0.01 -r 4k
  has batch $batch
  has checksum $block
done
run 0 digest-bench --batch 0 -T 0.01
has batch 0
for threads in 1 2; do
  run 0 digest-bench --batch 0 -s 1m -r 4k -t $threads
  has checksum $message
done
run 0 digest-bench -d md5 -s 1m -r 4k
has checksum "$(md5sum < "$dir/block" | cut -d' ' -f1)"
# Without a result of OpenSSL, or for a function that is no digest, there is no
# ratio.
for digest in null nop memcpy crc32c; do
  run 0 digest-bench -d $digest -T 0.01 -r 4k
  has digest-name $digest
  has ratio None
  case $digest in
    crc32c) grep -q '"checksum": "[0-9a-f]\{8\}"' "$dir/stdout" ||
              fail "no checksum of crc32c" ;;
    *) has checksum "" ;;
  esac
done
run 0 digest-bench -d sha3-256 -s 64k
! grep -q '"ratio": null' "$dir/stdout" || fail "no ratio for sha3-256"
refused digest-bench -r 100
refused digest-bench -B 5000
run 1 digest-bench -d nonsense

# ---- lanes-bench ----

kernels=$($(echo $wrapper) "$(real_program ./lane-kernels)" | sed -n 's/^sha256 //p')
if [ -n "$kernels" ]; then
  run 0 lanes-bench -n 1 -B 3 -r 4k
  has_keys digest-name read-size batches
  has digest-name sha256
  has read-size 4096
  "$PYTHON" -c '
import json, sys
(row,) = json.load(sys.stdin)["batches"]
sides = ["choice", "library"] + sys.argv[1:]
assert list(row) == ["batch", "best", "ratio"] + sides, list(row)
assert row["batch"] == 3 and row["best"] in sides[1:], row
' $kernels < "$dir/stdout" || fail "lanes-bench printed other cases"
  BLKHASH_CPU=none run 1 lanes-bench -n 1 -B 3 -r 4k
else
  run 1 lanes-bench -n 1 -B 3 -r 4k
fi
run 1 lanes-bench -d md5
run 1 lanes-bench -d nonsense
refused lanes-bench -B 0
refused lanes-bench -B 65
refused lanes-bench -r 32
refused lanes-bench -n 0
refused lanes-bench now

# ---- zero-bench ----

run 0 zero-bench -T 0.002
has_keys timeout-seconds block-size results
"$PYTHON" -c 'import itertools, json, sys
got = json.load(sys.stdin)["results"]
assert sorted((r["function"], r["input"], r["aligned"]) for r in got) == sorted(
    itertools.product(("blkhash", "memcmp", "loop"),
                      ("data-best", "data-worst", "zero"), (True, False)))
for r in got:
    assert list(r) == ["function", "input", "aligned", "calls", "elapsed",
                       "nanoseconds-per-call", "throughput", "cycles-per-call"]
' < "$dir/stdout" || fail "zero-bench printed other cases"
run 0 zero-bench -T 0.002 -b 1
refused zero-bench -b 0

# ---- cache ----

# Not all file systems let pages be dropped (tmpfs does not), so this only
# compares with what cache itself reports as cached.  The kernel may evict a
# page before that, but not always.
head -c 1000000 /dev/zero > "$dir/file"
all_there () {
  run 0 cache "$dir/file"
  grep -q ": 1000000 bytes, in the cache: [0-9]* before, 1000000 after$" \
    "$dir/stdout"
}
wait_until all_there
all_was_there () {
  run 0 cache "$dir/file"
  run 0 cache --drop "$dir/file"
  grep -q ": 1000000 bytes, in the cache: 1000000 before, [0-9]* after$" \
    "$dir/stdout"
}
wait_until all_was_there
truncate -s 0 "$dir/empty"
run 0 cache "$dir/empty" "$dir/file"
[ "$(wc -l < "$dir/stdout")" = 2 ] || fail "not a line for each file"
run 1 cache "$dir/none"
refused cache

for program in blkhash-bench cache digest-bench lanes-bench zero-bench; do
  run 0 $program --help
  grep -q "^Usage: $program" "$dir/stdout" || fail "$program has no help"
  run 2 $program --nonsense
done

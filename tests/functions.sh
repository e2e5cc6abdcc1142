# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced first by every test script: tests/README.md says how to write one.  It
# sets up the environment: "blksum" and "blkhash" in PATH are those of this build,
# $dir is an empty directory that is removed at the end, and TMPDIR is inside it.
#
# Tests run in the tests directory of the build, which has env.sh.

set -e
. ./env.sh

# As TESTS of make names it.
test_name=$(basename "$(dirname "$0")")/$(basename "$0" .sh)

# ---- Ends ----

# skip REASON
skip () {
  echo "SKIP: $test_name: $*"
  exit 77
}

# fail REASON: also prints the output of the last command.
fail () {
  echo "FAIL: $test_name: $*"
  for output in stdout stderr; do
    if [ -s "$dir/$output" ]; then
      echo "--- $output:"
      head -c 4000 "$dir/$output"
    fi
  done
  exit 1
}

on_exit=
pids=

# is_ours PID: the process is still one of this test, and no other has its
# number.
is_ours () {
  [ ! -e /proc/self/environ ] || grep -qsF "$dir" "/proc/$1/environ"
}

# has_ended PID: it has exited, or been killed.  It can be a zombie for ever, where
# process 1 of a container does not wait for children that it gets.
has_ended () {
  ! is_ours "$1" || ! kill -0 "$1" 2> /dev/null
}

# wait_for_exit PID: waits until the process has exited, and kills it if it takes
# long.
wait_for_exit () {
  tries=0
  until has_ended "$1"; do
    [ $tries -lt 600 ] || kill -9 "$1" 2> /dev/null || :
    [ $tries -lt 700 ] || break
    tries=$((tries + 1))
    sleep 0.1
  done
}

# Servers get SIGTERM, as from a user, because nbdkit has files outside $dir to
# remove.  A process that waits for a file in $dir continues when $dir is
# removed.
cleanup () {
  status=$?
  trap - EXIT
  eval "$on_exit"
  ours=
  for pid in $pids; do
    if is_ours "$pid" && kill "$pid" 2> /dev/null; then
      kill -CONT "$pid" 2> /dev/null || :
      ours="$ours $pid"
    fi
  done
  rm -rf "$dir" || :
  for pid in $ours; do
    wait_for_exit "$pid"
  done
  rm -rf "$dir"
  exit $status
}

# at_exit COMMAND: runs it at the end; the last one that was added runs first.
at_exit () {
  on_exit="$1
$on_exit"
}

# kill_at_exit PID
kill_at_exit () {
  pids="$pids $1"
}

# ---- Requirements ----

# requires COMMAND: the test is skipped if this fails.
requires () {
  "$@" > /dev/null 2>&1 || skip "'$*' does not work here"
}

requires_program () {
  for program; do
    command -v "$program" > /dev/null || skip "$program is missing"
  done
}

# loop_device FILE [OPTION]...: sets up a loop device, and prints its name.  Tests that
# run at the same time take turns: losetup opens the first device that is free, and if
# another test sets it up first, losetup has it open for a moment.
loop_device () {
  flock /dev/loop-control losetup --find --show "$@" 2> "$dir/losetup.log"
}

# attach FILE [OPTION]...: sets $device to a loop device, or skips the test.
attach () {
  device=$(loop_device "$@") || skip "no loop device: $(cat "$dir/losetup.log")"
  at_exit "losetup -d $device"
}

# requires_nbdkit [PLUGIN|--filter=FILTER]...
requires_nbdkit () {
  requires_nbd
  requires_program nbdkit
  for module; do
    case $module in
      --filter=*) requires nbdkit "$module" null --version ;;
      *) requires nbdkit "$module" --version ;;
    esac
  done
}

# requires_nbd: blksum was built with libnbd.
requires_nbd () {
  grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" ||
    skip "built without libnbd"
}

# requires_inflating: blksum was built with the libraries by which it detects
# whether a qcow2 that ends within compressed data is complete.
requires_inflating () {
  for library in ZLIB ZSTD; do
    grep -q "^#define HAVE_$library 1" "$abs_top_builddir/config.h" ||
      skip "built without $library"
  done
}

# requires_qemu: blksum can read images that are not raw.
requires_qemu () {
  requires_nbd
  requires_program qemu-img qemu-nbd
}

requires_root () {
  [ "$(id -u)" = 0 ] || skip "not root"
}

# requires_no_sanitizer [REASON]: the default is that the test starts nbdkit,
# which was built without it, itself instead of by "serve".  Makefile.am searches
# for lines that begin with this: "make check-valgrind" runs these tests, too.
requires_no_sanitizer () {
  [ "$SANITIZE" = no ] || skip "${1:-with a sanitizer nbdkit needs LD_PRELOAD}"
}

# ---- Programs that were built ----

# real_program FILE: prints the program behind the script that libtool makes of
# it, so that a test kills the program itself, and valgrind runs it.
real_program () {
  case $1 in
    */*) real_dir=${1%/*} ;;
    *) real_dir=. ;;
  esac
  if [ "$(head -c 2 "$1")" = '#!' ] && [ -x "$real_dir/.libs/${1##*/}" ]; then
    echo "$real_dir/.libs/${1##*/}"
  else
    echo "$1"
  fi
}

# The timeout of waits, in seconds.  A test that passes never comes near it,
# however busy the machine is.
limit=300

# $wrapper is put before our programs; blksum and blkhash run $prepare before it.
wrapper=
prepare=
if [ "${BLKHASH_VALGRIND:-0}" != 0 ]; then
  [ "$VALGRIND" != no ] || skip "valgrind is missing"
  # Where a signal ends a program, the memory of its threads is possibly lost.
  wrapper="$VALGRIND -q --vgdb=no --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite --errors-for-leak-kinds=definite
    --child-silent-after-fork=yes
    --suppressions=$abs_top_srcdir/tests/valgrind.supp"
  # valgrind takes the soft limit for the hard one, which cannot be changed;
  # blksum lowers it to this number.  A test can have set a lower one.
  prepare='ulimit -S -n 256 2> /dev/null || :'
fi

# Detects use of a thread's stack after return; not the default of all
# compilers.
case $SANITIZE in
  *address*)
    ASAN_OPTIONS=detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
    export ASAN_OPTIONS LSAN_OPTIONS
    ;;
esac

# ---- The short form and the long one ----

# is_long: the test runs all its cases, as in "make check-long".
is_long () {
  [ "${BLKHASH_SLOW:-0}" != 0 ]
}

# is_instrumented: programs run in valgrind or with a sanitizer, and are slow.
is_instrumented () {
  [ -n "$wrapper" ] || [ "$SANITIZE" != no ]
}

# every N [M]: is true for all cases in the long form; in the short form for
# every N-th call, from the first on, or every M-th if programs are
# instrumented.  Choose a number that has no common factor with the lengths of
# the loops, so that all values of each loop occur.
cases=0
every () {
  cases=$((cases + 1))
  step_of_cases=$1
  ! is_instrumented || step_of_cases=${2:-$1}
  is_long || [ $(((cases - 1) % step_of_cases)) = 0 ]
}

# rounds SHORT LONG INSTRUMENTED: sets the rounds of a random test, unless the
# user did: SHORT, or LONG in the long form.  If programs are instrumented it is
# half of SHORT, or INSTRUMENTED in the long form.
rounds () {
  if ! is_long; then
    default_rounds=$1
    ! is_instrumented || default_rounds=$((($1 + 1) / 2))
  elif is_instrumented; then
    default_rounds=$3
  else
    default_rounds=$2
  fi
  BLKHASH_ROUNDS=${BLKHASH_ROUNDS:-$default_rounds}
  export BLKHASH_ROUNDS
}

# ---- The directory of the test ----

dir=$(mktemp -d "${TMPDIR:-/tmp}/blkhash-test-XXXXXX")
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$dir/bin" "$dir/tmp"
TMPDIR=$dir/tmp
PATH=$dir/bin:$PATH
LD_LIBRARY_PATH=$abs_top_builddir/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# For reference.py and other modules; without __pycache__ in the source.
PYTHONPATH=$abs_top_srcdir/tests${PYTHONPATH:+:$PYTHONPATH}
PYTHONDONTWRITEBYTECODE=1
export TMPDIR PATH LD_LIBRARY_PATH PYTHONPATH PYTHONDONTWRITEBYTECODE
# A link, if nothing has to be added: a shell script would take a fifth of the
# time of blksum.
for program in blksum blkhash; do
  real=$(real_program "$abs_top_builddir/tools/$program")
  if [ -z "$prepare$wrapper" ]; then
    ln -s "$real" "$dir/bin/$program"
  else
    cat > "$dir/bin/$program" << END
#!/bin/sh
$prepare
exec $(echo $wrapper) $real "\$@"
END
    chmod +x "$dir/bin/$program"
  fi
done

# ---- Images ----

# write_data FILE OFFSET LEN: writes bytes that differ from block to block.
write_data () {
  seq 1000000 9999999 | head -c "$3" |
    dd of="$1" bs=64k seek="$2" oflag=seek_bytes iflag=fullblock \
       conv=notrunc status=none
}

# write_zeros FILE OFFSET LEN: writes zeros, which are not a hole.
write_zeros () {
  head -c "$3" /dev/zero |
    dd of="$1" bs=64k seek="$2" oflag=seek_bytes iflag=fullblock \
       conv=notrunc status=none
}

# make_image FILE: creates a file of 8 MiB with data, zeros and holes, most of
# them unaligned.
make_image () {
  rm -f "$1"
  truncate -s 8m "$1"
  write_data "$1" 0 200000
  write_zeros "$1" 327680 655360
  write_data "$1" 1000003 1300000
  write_data "$1" 5242880 4096
  write_data "$1" 8388000 608
}

# reference [OPTION]... FILE: prints the sum that tests/reference.py computes.
# Without the packages beside its library, of which only xxhash matters, Python
# starts in half of the time.
reference () {
  case $* in
    *xxh*) site= ;;
    *) site=-S ;;
  esac
  "$PYTHON" $site "$abs_top_srcdir/tests/reference.py" "$@"
}

# of_spec DIGEST/SIZE[/sN|/linear]: prints the reference's options for the spec.
of_spec () {
  echo "-d $1" | sed 's|/linear| --linear|; s|/s| -s |; s|/| -b |'
}

# ---- Environments ----

# hide_proc: from here on blksum runs with an empty /proc, as in a chroot, and
# keeps its process id.
hide_proc () {
  [ -r /proc/self/environ ] || skip "no /proc to be hidden"
  [ -z "$wrapper" ] || skip "valgrind needs /proc"
  [ "$SANITIZE" = no ] || skip "sanitizers need /proc"
  # In a chroot only /proc can be made private.
  hide="mount --make-private /proc && mount -t tmpfs none /proc"
  unshare="unshare --mount --propagation unchanged"
  [ "$(id -u)" = 0 ] || unshare="$unshare --map-root-user"
  requires $unshare sh -c "$hide && ! [ -e /proc/self ]"
  for program in blksum blkhash; do
    seeing=$dir/bin/$program.seeing
    mv "$dir/bin/$program" "$seeing"
    cat > "$dir/bin/$program" << END
#!/bin/sh
exec $unshare sh -c '$hide && exec "\$@"' sh "$seeing" "\$@"
END
    chmod +x "$dir/bin/$program"
  done
}

# list_changes SIZE [START LENGTH]...: prints a list for blkhash update --changed,
# as blkhash compare prints it for an image of SIZE bytes in which these ranges
# differ.
list_changes () {
  compared=$1 result=ok rows=
  shift
  while [ $# -gt 0 ]; do
    rows="$rows${rows:+,}{\"start\":$1,\"length\":$2,\"result\":\"differs\"}"
    result=differs
    shift 2
  done
  echo "{\"ranges\":[$rows],\"images\":[],\"compared-bytes\":$compared,\
\"result\":\"$result\"}"
}

# ---- Servers ----

# serve_web DIR [LOG]: a web server of the files in DIR; sets $web, its URL.  See
# web-server.py.
serve_web () {
  rm -f "$dir/port"
  "$PYTHON" "$abs_top_srcdir/tests/web-server.py" "$1" "$dir/port" \
    ${2:+"$2"} &
  kill_at_exit $!
  wait_until test -s "$dir/port"
  web=http://127.0.0.1:$(cat "$dir/port")
}

# start_nbdkit ARGUMENT...: sets $uri, and $server to its process id.
servers=0
start_nbdkit () {
  servers=$((servers + 1))
  socket=$dir/nbd$servers.sock
  echo "+ nbdkit $*"
  nbdkit -U "$socket" -P "$socket.pid" "$@" 2> "$socket.log" ||
    fail "nbdkit: $(cat "$socket.log")"
  wait_until test -s "$socket.pid"
  server=$(cat "$socket.pid")
  kill_at_exit "$server"
  uri=nbd+unix:///?socket=$socket
}

# start_evil_server FILE FAULT...: starts evil-server.py, and sets $uri, $server
# and $socket.
start_evil_server () {
  servers=$((servers + 1))
  socket=$dir/evil$servers.sock
  echo "+ evil-server.py $*"
  "$PYTHON" "$abs_top_srcdir/tests/evil-server.py" "$socket" "$@" &
  server=$!
  kill_at_exit $server
  wait_until test -S "$socket"
  uri=nbd+unix:///?socket=$socket
}

stop_evil_server () {
  kill -9 "$server"
  wait "$server" 2> /dev/null || :
}

# becomes_true COMMAND: repeats it until it succeeds; fails after $limit
# seconds.
becomes_true () {
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ $tries -lt $((limit * 20)) ] || return 1
    sleep 0.05
  done
}

wait_until () {
  becomes_true "$@" || fail "waited in vain for: $*"
}

# ---- Expected behaviour of blksum and blkhash ----

# run STATUS COMMAND: the exit status must be STATUS; output goes to $dir/stdout
# and $dir/stderr.  With ASan, to search for leaks takes a quarter of the time of
# blksum: in the short form two of seven runs do it.
runs=0
run () {
  wanted_status=$1
  shift
  LSAN_OPTIONS=
  is_long || [ $(((runs += 1) % 7)) -lt 2 ] || LSAN_OPTIONS=detect_leaks=0
  echo "+ $*"
  status=0
  "$@" > "$dir/stdout" 2> "$dir/stderr" || status=$?
  [ $status = "$wanted_status" ] ||
    fail "exit status $status, not $wanted_status: $*"
}

# prints_sum SUM COMMAND: COMMAND, which runs blksum or blkhash, succeeds without a
# message, and prints one line, which begins with SUM, or is "blk-SPEC (NAME) = SUM".
prints_sum () {
  wanted_sum=$1
  shift
  run 0 "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message: $*"
  {
    IFS= read -r got_line || :
    ! read -r got_more || fail "more than one line: $*"
  } < "$dir/stdout"
  case $got_line in
    blk-*) got_sum=${got_line##* } ;;
    *) got_sum=${got_line%% *} ;; # the digest "null" has an empty sum
  esac
  [ "$got_sum" = "$wanted_sum" ] || fail "$*
  expected $wanted_sum
  got      $got_sum"
}

# refuses REGEX COMMAND: COMMAND, which runs blksum or blkhash, exits with status 2,
# prints no sum, and one line of error that matches REGEX.
refuses () {
  regex=$1
  shift
  run 2 "$@"
  [ ! -s "$dir/stdout" ] || fail "printed a sum: $*"
  says_once "$regex"
}

# says_once REGEX: the last command wrote one line to stderr, which matches.
says_once () {
  [ "$(wc -l < "$dir/stderr")" = 1 ] || fail "not one line on stderr"
  grep -q -e "^blk[a-z]*: .*$1" "$dir/stderr" || fail "does not say '$1'"
}

# says REGEX...: the last command wrote one line to stderr for each REGEX, in
# this order, which match.
says () {
  [ "$(wc -l < "$dir/stderr")" = $# ] || fail "not $# lines on stderr"
  said=0
  for regex; do
    said=$((said + 1))
    sed -n ${said}p "$dir/stderr" | grep -q -e "^blk[a-z]*: .*$regex" ||
      fail "line $said does not say '$regex'"
  done
}

# says_of NAME: the last command wrote some lines of error to stderr, all of
# them about NAME.
says_of () {
  said=$(wc -l < "$dir/stderr")
  [ "$said" -ge 1 ] && [ "$said" -le 11 ] || fail "$said lines on stderr"
  [ "$(sed 's/^blk[a-z]*: //' "$dir/stderr" | cut -c 1-$((${#1} + 2)) |
         sort -u)" = "$1: " ] ||
    fail "a line that does not begin with $1"
}

# refcompare ARGUMENT...: sets $json to what tests/refcompare.py prints, and $status
# to the exit status of the same comparison.
refcompare () {
  json=$("$PYTHON" "$abs_top_srcdir/tests/refcompare.py" "$@")
  status=1
  [ "$json" = "${json%\"ok\"\}}" ] || status=0
}

# found_so: blkhash compare printed $json, and "images", and no message.
found_so () {
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  [ "$(sed 's/"images":\[[^]]*\],//' "$dir/stdout")" = "$json" ] ||
    fail "expected $json"
}

# midway EVENT [blkhash COMMAND] ARGUMENT...: runs blksum, or blkhash, and when it has
# read a part of the image, the shell command EVENT, in which $pid is its process.
midway () {
  "$PYTHON" "$abs_top_srcdir/tests/midway.py" "$@"
}

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by every test script first: tests/README.md says how they are
# written.  After it "blksum" in PATH is the one that was built, $dir is an
# empty directory that is removed at the end, and TMPDIR lies in it.
#
# Tests run in the tests directory of the build, where env.sh is.

set -e
. ./env.sh

test_name=$(basename "$0" .sh)

# ---- Ends ----

# skip REASON
skip () {
  echo "SKIP: $test_name: $*"
  exit 77
}

# fail REASON: also shows what the last command printed.
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

# is_ours PID: not a stranger's by now, whose process got the same number.
is_ours () {
  [ ! -e /proc/self/environ ] || grep -qsF "$dir" "/proc/$1/environ"
}

# end_of PID: wait for it, and kill it if it takes long.
end_of () {
  tries=0
  while is_ours "$1" && kill -0 "$1" 2> /dev/null; do
    [ $tries -lt 100 ] || kill -9 "$1" 2> /dev/null || :
    [ $tries -lt 200 ] || break
    tries=$((tries + 1))
    sleep 0.1
  done
}

# Servers end as a user ends them: nbdkit has files outside $dir then.  What waits
# for a file in $dir goes on when that is gone.
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
    end_of "$pid"
  done
  rm -rf "$dir"
  exit $status
}

# at_exit COMMAND: run it at the end, the last one first.
at_exit () {
  on_exit="$1
$on_exit"
}

# kill_at_exit PID
kill_at_exit () {
  pids="$pids $1"
}

# ---- Requirements ----

# requires COMMAND: one that fails when something is missing.
requires () {
  "$@" > /dev/null 2>&1 || skip "'$*' does not work here"
}

requires_program () {
  for program; do
    command -v "$program" > /dev/null || skip "$program is missing"
  done
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

# A blksum that was built with libnbd.
requires_nbd () {
  grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" ||
    skip "built without libnbd"
}

# What tells whether a qcow2 that ends within compressed data is complete.
requires_inflating () {
  for library in ZLIB ZSTD; do
    grep -q "^#define HAVE_$library 1" "$abs_top_builddir/config.h" ||
      skip "built without $library"
  done
}

# What reads images that are not raw.
requires_qemu () {
  requires_nbd
  requires_program qemu-img qemu-nbd
}

requires_root () {
  [ "$(id -u)" = 0 ] || skip "not root"
}

# ---- Programs that were built ----

# The program itself and not the script that libtool makes of it: it is the
# one to be killed, and to be run by valgrind.
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

# Seconds after which what we wait for never comes.  A test that passes is
# nowhere near it, however busy the machine, and never lets it run out.
limit=300

# $wrapper is put before our programs, and before that blksum runs $prepare.
wrapper=
prepare=
if [ "${BLKHASH_VALGRIND:-0}" != 0 ]; then
  [ "$VALGRIND" != no ] || skip "valgrind is missing"
  wrapper="$VALGRIND -q --vgdb=no --error-exitcode=99 --leak-check=full
    --errors-for-leak-kinds=definite --child-silent-after-fork=yes
    --suppressions=$abs_top_srcdir/tests/valgrind.supp"
  # For valgrind the soft limit is the hard one, which nobody may change, and
  # blksum lowers it to this.
  prepare='ulimit -S -n 256'
fi

# Not the default of all compilers: what a thread leaves behind on its stack.
case $SANITIZE in
  *address*)
    ASAN_OPTIONS=detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
    export ASAN_OPTIONS
    ;;
esac

# ---- The short form and the long one ----

# is_long: "make check-long" runs this, which takes all cases.
is_long () {
  [ "${BLKHASH_SLOW:-0}" != 0 ]
}

# is_observed: programs run in valgrind or with a sanitizer, and take their time.
is_observed () {
  [ -n "$wrapper" ] || [ "$SANITIZE" != no ]
}

# every N [OBSERVED]: is true for each case in the long form, and else for each N-th
# that is asked for, beginning with the first; for each OBSERVED-th if programs are
# observed.  A number that has no factor in common with those of the loops takes all
# of each loop's values in turn.
cases=0
every () {
  cases=$((cases + 1))
  step_of_cases=$1
  ! is_observed || step_of_cases=${2:-$1}
  is_long || [ $(((cases - 1) % step_of_cases)) = 0 ]
}

# rounds SHORT LONG OBSERVED: how many a random test has, unless the user said so:
# SHORT, or in the long form LONG.  If programs are observed it is half of SHORT, and
# in the long form OBSERVED.
rounds () {
  if ! is_long; then
    default_rounds=$1
    ! is_observed || default_rounds=$((($1 + 1) / 2))
  elif is_observed; then
    default_rounds=$3
  else
    default_rounds=$2
  fi
  BLKHASH_ROUNDS=${BLKHASH_ROUNDS:-$default_rounds}
  export BLKHASH_ROUNDS
}

# run_again NAME: test-blksum-NAME.sh runs once more, in the environment of this test.
# Those that failed are in $failed_again.
failed_again=
run_again () {
  again=$(dirname "$0")/test-blksum-$1.sh
  status=0
  (trap - EXIT; exec "$again") > "$dir/log" 2>&1 || status=$?
  echo "$again: exit status $status"
  case $status in
    0) ;;
    77) grep "^SKIP" "$dir/log" ;;
    *) cat "$dir/log"; failed_again="$failed_again ${again##*/}" ;;
  esac
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
export TMPDIR PATH LD_LIBRARY_PATH
# A link where there is nothing to be added: a shell takes a fifth of the time that
# blksum takes.
if [ -z "$prepare$wrapper" ]; then
  ln -s "$(real_program "$abs_top_builddir/tools/blksum")" "$dir/bin/blksum"
else
  cat > "$dir/bin/blksum" << END
#!/bin/sh
$prepare
exec $(echo $wrapper) $(real_program "$abs_top_builddir/tools/blksum") "\$@"
END
  chmod +x "$dir/bin/blksum"
fi

# ---- Images ----

# write_data FILE OFFSET LEN: bytes that differ from block to block.
write_data () {
  seq 1000000 9999999 | head -c "$3" |
    dd of="$1" bs=64k seek="$2" oflag=seek_bytes iflag=fullblock \
       conv=notrunc status=none
}

# write_zeros FILE OFFSET LEN: zeros that are no hole.
write_zeros () {
  head -c "$3" /dev/zero |
    dd of="$1" bs=64k seek="$2" oflag=seek_bytes iflag=fullblock \
       conv=notrunc status=none
}

# make_image FILE: 8 MiB with data, zeros and holes; little is aligned.
make_image () {
  rm -f "$1"
  truncate -s 8m "$1"
  write_data "$1" 0 200000
  write_zeros "$1" 327680 655360
  write_data "$1" 1000003 1300000
  write_data "$1" 5242880 4096
  write_data "$1" 8388000 608
}

# reference [OPTION]... FILE: the sum alone, by tests/reference.py.
reference () {
  "$PYTHON" "$abs_top_srcdir/tests/reference.py" "$@"
}

# ---- Surroundings ----

# hide_proc: from here on blksum sees an empty /proc, as in a chroot.  It keeps
# its process id.
hide_proc () {
  [ -r /proc/self/environ ] || skip "no /proc to be hidden"
  [ -z "$wrapper" ] || skip "valgrind needs /proc"
  [ "$SANITIZE" = no ] || skip "sanitizers need /proc"
  # In a chroot no more than this can be made private.
  hide="mount --make-private /proc && mount -t tmpfs none /proc"
  unshare="unshare --mount --propagation unchanged"
  [ "$(id -u)" = 0 ] || unshare="$unshare --map-root-user"
  requires $unshare sh -c "$hide && ! [ -e /proc/self ]"
  mv "$dir/bin/blksum" "$dir/bin/blksum.seeing"
  cat > "$dir/bin/blksum" << END
#!/bin/sh
exec $unshare sh -c '$hide && exec "\$@"' sh "$dir/bin/blksum.seeing" "\$@"
END
  chmod +x "$dir/bin/blksum"
}

# ---- Servers ----

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

# start_evil_server FILE FAULT...: see evil-server.py; sets $uri, $server and
# $socket.
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

# becomes_true COMMAND: before $limit ends; the status says whether.
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

# ---- What blksum is to do ----

# run STATUS COMMAND: the output is in $dir/stdout and $dir/stderr.
run () {
  wanted_status=$1
  shift
  echo "+ $*"
  status=0
  "$@" > "$dir/stdout" 2> "$dir/stderr" || status=$?
  [ $status = "$wanted_status" ] ||
    fail "exit status $status, not $wanted_status: $*"
}

# prints_sum SUM COMMAND: COMMAND, which runs blksum, ends well, and the first
# word of the only line that it prints is SUM.
prints_sum () {
  wanted_sum=$1
  shift
  run 0 "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message: $*"
  {
    IFS= read -r got_line || :
    ! read -r got_more || fail "more than one line: $*"
  } < "$dir/stdout"
  got_sum=${got_line%% *}       # that of "null" is empty
  [ "$got_sum" = "$wanted_sum" ] || fail "$*
  expected $wanted_sum
  got      $got_sum"
}

# refuses REGEX COMMAND: COMMAND, which runs blksum, exits with status 2,
# prints no sum, and says why in one line that matches REGEX.
refuses () {
  regex=$1
  shift
  run 2 "$@"
  [ ! -s "$dir/stdout" ] || fail "printed a sum: $*"
  says_once "$regex"
}

# says_once REGEX: the last command wrote one line to stderr, and it matches.
says_once () {
  [ "$(wc -l < "$dir/stderr")" = 1 ] || fail "not one line on stderr"
  grep -q -e "^blksum: .*$1" "$dir/stderr" || fail "does not say '$1'"
}

# says REGEX...: the last command wrote one line for each to stderr, in this
# order, and they match.
says () {
  [ "$(wc -l < "$dir/stderr")" = $# ] || fail "not $# lines on stderr"
  said=0
  for regex; do
    said=$((said + 1))
    sed -n ${said}p "$dir/stderr" | grep -q -e "^blksum: .*$regex" ||
      fail "line $said does not say '$regex'"
  done
}

# says_of NAME: the last command said why it did not hash NAME, in some lines
# that all begin with it.
says_of () {
  said=$(wc -l < "$dir/stderr")
  [ "$said" -ge 1 ] && [ "$said" -le 11 ] || fail "$said lines on stderr"
  [ "$(cut -c 1-$((${#1} + 10)) "$dir/stderr" | sort -u)" = "blksum: $1: " ] ||
    fail "a line that does not begin with $1"
}

# midway EVENT ARGUMENT...: blksum ARGUMENT..., and when it has read a part of
# the image, the shell command EVENT, which knows its process as $pid.
midway () {
  "$PYTHON" "$abs_top_srcdir/tests/midway.py" "$@"
}

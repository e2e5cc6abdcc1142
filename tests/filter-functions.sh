# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the tests of the nbdkit filter $filter_name, instead of functions.sh.
# With BLKHASH_VALGRIND=1, nbdkit runs in valgrind too.

. "$(dirname "$0")/../functions.sh"

filter_name=${filter_name:-blkhash}
filter=$abs_top_builddir/filter/.libs/nbdkit-$filter_name-filter.so
[ -f "$filter" ] || skip "built without nbdkit"
requires_program nbdkit nbdcopy nbdinfo
requires "$PYTHON" -c 'import nbd'
sums=$dir/sums
manifest=$dir/manifest
pause=$dir/pause.sock

# nbdkit unloads modules before valgrind reports errors in them.
nbdkit_wrapper=${wrapper:+$wrapper --keep-debuginfo=yes
  --suppressions=$abs_top_srcdir/tests/filter-valgrind.supp}
# nbdkit was built without the sanitizer, whose library must be loaded first.
case $SANITIZE in
  no) ;;
  *thread*)
    [ -n "${with_tsan:-}" ] || skip "not with TSan"
    # Memory accesses of nbdkit itself are ignored.  TSan does not support the
    # address randomization of newer kernels.
    nbdkit_wrapper="env TSAN_OPTIONS=ignore_noninstrumented_modules=1 LD_PRELOAD=$(
      gcc -print-file-name=libtsan.so)"
    ! setarch -R true 2> /dev/null ||
      nbdkit_wrapper="$nbdkit_wrapper setarch -R"
    ;;
  *)
    # Leaks of nbdkit itself and of its plugins are not ours.
    nbdkit_wrapper="env ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(
      gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)"
    ;;
esac

# serve ARGUMENT...: starts nbdkit with our filter as the first one; $above are
# arguments that go before it.  Sets $uri, $server, $log.
above=
serve () {
  case " $SANITIZE $* " in
    " no "*) ;;
    *" eval "* | *" sh "*) skip "shells do not run with the sanitizer" ;;
  esac
  servers=$((servers + 1))
  socket=$dir/nbd$servers.sock
  log=$socket.log
  echo "+ nbdkit $above --filter=$filter_name $*"
  $nbdkit_wrapper nbdkit -f -v -U "$socket" -P "$socket.pid" $above \
                  --filter="$filter" "$@" 2> "$log" &
  server=$!
  kill_at_exit $server
  uri=nbd+unix:///?socket=$socket
  wait_until server_is_up
}

server_is_up () {
  kill -0 $server 2> /dev/null || fail "nbdkit ended: $(cat "$log")"
  test -s "$socket.pid"
}

# stop: ends the server, which must exit without an error.  The result file is
# final then.
stop () {
  kill $server
  ended
}

# ended: waits for the end of a server that was stopped otherwise.
ended () {
  if [ "$SANITIZE" != no ]; then
    # With a preloaded sanitizer, nbdkit can hang in a destructor of p11-kit,
    # after our filter is unloaded.
    wait_until grep -q "$filter_name: unload" "$log"
    for try in 1 2 3 4 5 6 7 8 9 10; do
      ! grep -qs '^State:.[^Z]' /proc/$server/status || sleep 0.02
    done
    kill -9 $server 2> /dev/null || :
    wait $server || :
    ! grep -q -e 'AddressSanitizer' -e 'runtime error' "$log" ||
      fail "$(grep -A 40 -e 'AddressSanitizer' -e 'runtime error' "$log")"
    return
  fi
  status=0
  wait $server || status=$?
  [ $status = 0 ] || fail "nbdkit ended with $status: $(tail -n 40 "$log")"
}

# copy ARGUMENT...: nbdcopy, which must succeed.
copy () {
  run 0 nbdcopy "$@"
}

# client EXPORT CODE: runs Python code in which "h" is connected to that export
# of $uri.  pause() and resume() control nbdkit's pause filter, by
# pause-control=$pause: it holds requests before they reach the plugin.
client () {
  echo "+ client '$1': $2"
  "$PYTHON" - "$socket" "$1" "$2" "$limit" "$pause" \
            > "$dir/stdout" 2> "$dir/stderr" << 'END' ||
import os, sys, time, nbd
def connect(name):
    h = nbd.NBD()
    h.add_meta_context("base:allocation")
    h.set_export_name(name)
    h.connect_unix(sys.argv[1])
    return h
def wait_until(condition):
    end = time.monotonic() + int(sys.argv[4])
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
def content(name):
    with open(name, "rb") as f: return f.read()
def control(word):
    import socket
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[5])
        s.sendall(word)
        assert s.recv(1) == word.upper()
def pause(): control(b"p")
def resume(): control(b"r")
h = connect(sys.argv[2])
exec(sys.argv[3])
h.shutdown()
END
    fail "client"
}

# all_disconnected: every connection is closed, and the filter has done its work
# for it.
all_disconnected () {
  opened=$(grep -c "$filter_name: open readonly=" "$log") || :
  [ "$(grep -c "$filter_name: close\$" "$log")" = "$opened" ]
}

# sum_line HEX [NAME [SPEC]]: prints the line of a sum.
sum_line () {
  printf 'blk-%s (%s) = %s\n' "${3:-sha256/64k}" "${2:--}" "$1"
}

has_line () {
  grep -q -x -F -e "$1" "$sums"
}

result_matches () {
  grep -q -e "$1" "$sums"
}

# wait_for_line LINE: waits until the result file has this line.  wait_for_match
# REGEX: waits until one matches.
wait_for_line () {
  becomes_true has_line "$1" || fail "expected in the result file:
$1
got:
$(cat "$sums")
$(tail -n 5 "$log")"
}

wait_for_match () {
  wait_until result_matches "$1"
}

# wait_for_sum IMAGE [NAME]: waits for the sum of IMAGE, which the reference
# computes; blksum must print the same.
wait_for_sum () {
  wanted=$(reference "$1")
  prints_sum "$wanted" blksum -f raw "$1"
  wait_for_line "$(sum_line "$wanted" "${2:--}")"
}

# no_sum: the result file has no sum.
no_sum () {
  ! result_matches '^\\\{0,1\}blk-' || fail "there is a sum:
$(cat "$sums")"
}

# manifest_is IMAGE [OPTION]...: the manifest is that of IMAGE as the reference
# writes it with these options, and only its owner can read it.
manifest_is () {
  image=$1
  shift
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "$@" "$image" \
    > "$dir/wanted"
  cmp "$dir/wanted" "$manifest" || fail "not the manifest of $image"
  [ "$(stat -c %a "$manifest")" = 600 ] || fail "the mode is not 600"
}

# The first line of a result file.
result_header='# nbdkit-blkhash-filter replaces this file'

# without_header FILE: prints the other lines; the header must be there.
without_header () {
  [ "$(head -n 1 "$1")" = "$result_header" ] || fail "no header: $(head "$1")"
  tail -n +2 "$1"
}

# only_lock_beside FILE: the only file beside it is its lock, while the server
# runs.  At its start, possibly after "serve" has returned, the server creates
# and removes FILE.blkhash-new, to check that it can.
only_lock_beside () {
  becomes_true has_only_lock_beside "$1" || fail "left behind: $(ls "$1"*)"
}

has_only_lock_beside () {
  [ "$(ls "$1"*)" = "$1
$1.blkhash-lock" ]
}

# no_manifest: the file of the manifest exists, and is empty.
no_manifest () {
  [ -e "$manifest" ] || fail "the manifest is gone"
  [ ! -s "$manifest" ] || fail "there is a manifest"
}

# With "-U -", an nbdkit that ends before it serves leaves a directory in /tmp.

# refuses_to_start REGEX ARGUMENT...: nbdkit ends at once, and an error matches.
refuses_to_start () {
  regex=$1
  shift
  run 1 nbdkit -U "$dir/refused.sock" --filter="$filter" "$@" --run true
  grep -q -e "$regex" "$dir/stderr" || fail "does not say '$regex'"
}

# delay_can_be_read: is true if the filter can read the missing blocks through
# the delay filter after the client has disconnected.  With nbdkit 1.48 it
# cannot, even if reads are not delayed.
delay_can_be_read () {
  printf x > "$dir/byte"
  serve --filter=delay memory 1M wdelay=1ms blkhash-file="$dir/delay"
  nbdcopy "$dir/byte" "$uri" || return 1
  stop
  ! grep -q "# unknown" "$dir/delay"
}

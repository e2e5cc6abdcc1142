#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum hashes sources that can only be read sequentially: a pipe, a named
# pipe, a socket and a terminal, with any behaviour of the writer, and with few
# file descriptors.

. "$(dirname "$0")/../functions.sh"
cd "$dir"
mkfifo fifo

: > data
write_data data 0 5000001
make_image image
: > empty
reference data > data.sum
reference image > image.sum

# Standard input of blksum, one of
#   socket, terminal    a socket or a terminal
#   stalled             a pipe that is empty before FILE's last byte is written
#   interrupted         the same, but SIGINT is sent instead of that byte
cat > through.py << 'END'
import array, fcntl, os, pty, signal, socket, subprocess, sys, termios, time
import tty
way, limit, name, *arguments = sys.argv[1:]
data = open(name, "rb").read()
if way == "terminal":
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
elif way == "socket":
    ours, theirs = [s.detach() for s in socket.socketpair()]
else:
    theirs, ours = os.pipe()

def write(data):
    while data:
        data = data[os.write(ours, data[:65536]):]

def left():
    n = array.array("i", [0])
    fcntl.ioctl(ours, termios.FIONREAD, n)
    return n[0]

process = subprocess.Popen(
    ["blksum"] + arguments, stdin=theirs, close_fds=True,
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
if way in ("stalled", "interrupted"):
    write(data[:-1])
    end = time.monotonic() + int(limit)
    while left():
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("it is not read")
        time.sleep(0.01)
    if way == "interrupted":
        process.send_signal(signal.SIGINT)
        if process.wait(int(limit)) != -signal.SIGINT:
            sys.exit("not ended by SIGINT")
        sys.exit(0)
    data = data[-1:]
os.close(theirs)
write(data)
if way != "terminal":
    os.close(ours)
sys.exit(process.wait(int(limit)))
END
through () {
  way=$1
  shift
  "$PYTHON" through.py $way $limit "$@"
}

# written OPTIONS ARGUMENT...: dd with OPTIONS writes into a pipe.
written () {
  dd_options=$1
  shift
  dd if=data status=none $dd_options | blksum "$@"
}
named () {
  cat data > fifo &
  blksum "$@" fifo
}

for options in "" "-t 1" "-t 7" "-b 4m"; do
  case $options in -b*) hash_options=$options ;; *) hash_options= ;; esac
  sum=$(reference $hash_options data)
  for dd_options in bs=100 bs=4k bs=4M; do
    prints_sum $sum written $dd_options $options
  done
  prints_sum $sum named $options
  prints_sum $sum through socket data $options
  prints_sum $sum through stalled data $options
  # The end of the input would be a character.
  prints_sum $sum through terminal data --size 5000001 $options
  run 0 through interrupted data $options
  [ ! -s stdout ] || fail "printed a sum"
done
for way in socket stalled; do
  prints_sum "$(cat image.sum)" through $way image
done

# A writer that writes nothing, and one that is killed.
none () { blksum < fifo; }
: > fifo &
prints_sum "$(reference empty)" none
# shellcheck disable=SC2016 # expanded there
killed () {
  sh -c 'sh -c "$1" || :' sh 'head -c 1234567 data; kill -9 $$' 2> log | blksum
}
head -c 1234567 data > part
prints_sum "$(reference part)" killed

# Nothing beyond the image is read, although the pipe has more.
next_reader () { cat data image | (blksum --size 5000001 "$@"; blksum); }
for options in "" "-t 1" "-t 7"; do
  run 0 next_reader $options
  printf '%s  -\n' "$(cat data.sum)" "$(cat image.sum)" | cmp -s - stdout ||
    fail "the sums of the two differ"
done

# blksum has no descriptor for a pipe of its own, or few.
[ -z "$wrapper" ] || exit 0     # valgrind needs files of its own
blksum=$(real_program "$BLKSUM")
few_files () { (ulimit -n "$1" && exec "$blksum" -t 7) < fifo; }
for files in 4 5 6 8 12; do
  cat data > fifo &
  prints_sum "$(cat data.sum)" few_files $files
done

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by tests of the filter that hold calls of the plugin, instead of
# filter-functions.sh.  The plugin is filter/snapshot-plugin.c; its disk is $dir/disk.

. "$(dirname "$0")/../filter-functions.sh"

snapshot=$abs_top_builddir/tests/.libs/snapshot-plugin.so
mkdir "$dir/hold"

# serve_snapshot PARAMETER...
serve_snapshot () {
  serve "$snapshot" file="$dir/disk" hold="$dir/hold" blkhash-file="$sums" "$@"
}

# clients CODE: runs Python code that can use
#   connect (NAME)         an open connection
#   later (FUNCTION, ...)  calls it in another thread; get () of what it returns
#                          waits for the result
#   write (H, DATA, OFFSET)  begins a write, which is in flight until wait (H)
#   wait_for (H, CONDITION)  processes requests of H until CONDITION is true
#   Hold (CALL)            holds a call of the plugin, see filter/hold.h: wait ()
#                          until the call is held, then release () it
#   logged (TEXT, N)       waits until the log of nbdkit has TEXT N times
#   all_closed ()          waits until the plugin has closed all its handles
#   sums ()                the content of the result file
clients () {
  echo "+ clients: $1"
  LOG=$log DIR=$dir SUMS=$sums \
    "$PYTHON" - "$socket" "$1" > "$dir/stdout" 2> "$dir/stderr" << 'END_PYTHON' ||
import os, signal, sys, threading, time
import nbd

class later:
    def __init__(self, function, *args):
        def run():
            self.result = function(*args)
        self.thread = threading.Thread(target=run)
        self.thread.start()
    def get(self):
        self.thread.join()
        return self.result

class Hold:
    def __init__(self, call):
        self.path = os.path.join(os.environ["DIR"], "hold", call)
        os.mkfifo(self.path)
    def is_there(self):
        try:
            self.fd = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        os.unlink(self.path)
        return True
    def wait(self):
        while not self.is_there():
            time.sleep(0.01)
    def release(self):
        os.close(self.fd)

def connect(name="", extents=True):
    h = nbd.NBD()
    if extents:
        h.add_meta_context("base:allocation")
    h.set_export_name(name)
    h.connect_unix(sys.argv[1])
    return h

def write(h, data, offset):
    h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data)), offset)

def wait(h):
    while h.aio_in_flight():
        h.poll(-1)

def wait_for(h, condition):
    while not condition():
        h.poll(10)

def log():
    return open(os.environ["LOG"], errors="replace").read()

def logged(text, n=1):
    while log().count(text) < n:
        time.sleep(0.01)

def all_closed():
    logged("snapshot: closed", log().count("snapshot: open returned"))

def sums():
    return open(os.environ["SUMS"]).read()

# The timeout of waits: long enough for a busy machine.
signal.alarm(240)
exec(sys.argv[2])
END_PYTHON
    fail "clients"
}

# right_or_none [NAME]...: each of these exports has a line, and every line of
# the result file has the sum of the disk, or of $content, or the reason why
# there is none.
content=$dir/disk
hash_options=
right_or_none () {
  wanted=$(reference $hash_options "$content")
  for name in "${@:--}"; do
    result_matches "^# unknown $name: ." ||
      result_matches "^blk-[^ ]* ($name) = $wanted\$" ||
      fail "wrong or missing line of $name:
expected $wanted, or a reason for none
got:
$(cat "$sums")"
  done
  ! grep -v -e '^# unknown [^:]*: .' -e "^blk-.* = $wanted\$" \
         -e "^$result_header\$" "$sums" ||
    fail "expected $wanted"
}

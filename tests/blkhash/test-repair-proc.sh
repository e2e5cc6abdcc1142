#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair refuses a disk if /proc does not show whether it is in use, and
# sees the files of all threads.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

cd "$dir"
requires_direct
make_good good
make_manifest good
cp good disk
damage disk 3

# repair_with COMMAND...: repairs the disk, with a blksum that COMMAND runs.
repair_with () {
  "$@" blkhash repair --manifest good.blkm --sum "$sum" --limit 50% \
    --from good disk
}

# ---- Threads ----

# A thread opens the disk, with files of its own, or after the first one has ended.
cat > holder.py << 'END'
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def run():
    if sys.argv[1] == "own":
        if libc.unshare(0x400) != 0: # CLONE_FILES
            sys.exit("unshare: %s" % os.strerror(ctypes.get_errno()))
    else:
        status = "/proc/%d/task/%d/status" % (os.getpid(), os.getpid())
        while "State:\tZ" not in open(status).read():
            time.sleep(0.05)
    disk = open("disk", "r+b")
    print("open", flush=True)
    time.sleep(600)
threading.Thread(target=run).start()
if sys.argv[1] == "ended":
    libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0) # SYS_exit
time.sleep(600)
END
for kind in own ended; do
  case $kind-$(uname -m) in
    ended-x86_64 | ended-aarch64 | own-*) ;;
    *) continue ;;
  esac
  rm -f open
  "$PYTHON" holder.py $kind > open 2> holder.log &
  holder=$!
  kill_at_exit $holder
  wait_until test -s open
  leaves_alone disk refuses "disk: is in use: process $holder ([^)]*) has it open for writing$" \
    repair_with env
  kill -KILL $holder
  wait $holder 2> /dev/null || :
done

# ---- Too few descriptors to find out ----

hold disk
for n in 4 5 6 7 8 9 10 11 12; do
  [ -z "$wrapper" ] || break    # valgrind has descriptors of its own
  leaves_alone disk run 2 repair_with sh -c 'ulimit -n "$1" && shift && exec "$@"' sh $n
done

# ---- /proc of nothing, and of another PID namespace ----

# Sanitizers and valgrind need /proc.
no_proc=
if [ "$SANITIZE" = no ] && [ -z "$wrapper" ] &&
    unshare --mount mount -t tmpfs none /proc 2> mount.log; then
  no_proc=1
  leaves_alone disk refuses "disk: cannot find out whether it is in use: /proc does not show the files of processes; mount it" \
    repair_with unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh
  leaves_alone disk refuses "disk: is in use: process $holder " \
    repair_with unshare --pid --fork
else
  echo "no other /proc is tested"
fi
release
[ -z "$no_proc" ] || run 0 repair_with unshare --pid --fork
cp good disk
damage disk 3

# ---- Root without the capability to see the files of other users ----

setpriv --reuid 65534 --regid 65534 --clear-groups sleep 600 2> setpriv.log &
other=$!
kill_at_exit $other
if [ "$(id -u)" = 0 ] && setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace \
    true 2> setpriv.log; then
  leaves_alone disk refuses "disk: cannot find out whether it is in use: root needs CAP_SYS_PTRACE to read /proc/" \
    repair_with setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace
else
  echo "root without CAP_SYS_PTRACE is not tested"
fi
kill $other 2> kill.log || :
wait $other 2> /dev/null || :

# ---- Another user than root, who does not see the files of others ----

chmod 755 "$dir"
chmod 666 disk good.blkm
user="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$(id -u)" = 0 ] && $user blksum --version > version 2> setpriv.log; then
  hold disk
  run 0 repair_with $user
  release
  same disk good
  damage disk 3
else
  echo "another user is not tested"
fi
repair 0 "disk: OK (1 block repaired)" --from good disk
